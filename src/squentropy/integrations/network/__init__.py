"""A fully connected network and its training, without what small networks would wait for: the classifier's parts."""
