r"""
Learning with estimators
========================

The estimators on data that comes with scikit-learn: digits, diabetes, breast cancer.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

import holokern as hk

# %%
# **Digits.** Rows of length 1, as is usual for images; then the kernel depends on angles only.

X, y = load_digits(return_X_y=True)
X = Normalizer().fit_transform(X)
train, test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
for name in ("relu", "gelu"):
    model = hk.NTKClassifier(name, depth=3, alpha=1e-4).fit(train, y_train)
    print(f"digits: {name:5} accuracy {model.score(test, y_test):.3f}")

# %%
# **Breast cancer.** In a pipeline, with the depth chosen by cross-validation.

X, y = load_breast_cancer(return_X_y=True)
pipeline = make_pipeline(StandardScaler(), Normalizer(), hk.NTKClassifier("relu", alpha=0.1))
search = GridSearchCV(pipeline, {"ntkclassifier__depth": [1, 3, 5]}, cv=3).fit(X, y)
print("breast cancer:", search.best_params_, f"accuracy {search.best_score_:.3f}")

# %%
# The same kernel as features: Nyström features go into any linear model.

features = hk.NTKTransformer("relu", depth=3, n_components=100, random_state=0)
pipeline = make_pipeline(StandardScaler(), Normalizer(), features, LogisticRegression(max_iter=2000))
print(f"with 100 features and logistic regression: {cross_val_score(pipeline, X, y, cv=3).mean():.3f}")

# %%
# **Diabetes.** Regression. One diagonalisation serves eight ridges, and gives leave-one-out predictions too.

X, y = load_diabetes(return_X_y=True)
X = StandardScaler().fit_transform(X)
model = hk.NNGPRegressor("relu", depth=2, bias=1.0, alpha=np.logspace(0, 2.5, 8), solver="eigh")
model.fit(X, (y - y.mean()) / y.std())
left_out = model.leave_one_out() * y.std() + y.mean()
print(f"diabetes: ridge {model.alpha_:.2g}, R² of leave-one-out {1 - np.var(y - left_out) / np.var(y):.3f}")

figure, axis = plt.subplots(figsize=(4.4, 4), layout="constrained")
axis.plot(y, left_out, ".", markersize=3)
axis.plot([25, 350], [25, 350], "k--", linewidth=0.8)
axis.set(xlabel="measured", ylabel="predicted without the point")
plt.show()
