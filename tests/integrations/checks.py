"""All checks of check_estimator, in a process that skips none: `python -m tests.integrations.checks {}`."""

import os

os.environ["SCIPY_ARRAY_API"] = "1"  # read when SciPy is imported

import json
import sys
import warnings

import torch
from sklearn.utils.estimator_checks import check_estimator

from squentropy.integrations.sklearn import SquentropyClassifier

if __name__ == "__main__":
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # of the checks; what a fit warns of is tested elsewhere
    results = check_estimator(SquentropyClassifier(**json.loads(sys.argv[1])), on_skip=None, on_fail=None)
    print(json.dumps([(each["check_name"], each["status"], str(each["exception"])) for each in results]))
