"""Taylor steps in floats and in balls."""
