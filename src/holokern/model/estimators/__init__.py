"""Scikit-learn estimators."""
