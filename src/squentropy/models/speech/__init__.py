"""Attention and CTC in one model (Watanabe et al. 2017): encoders, decoders, and the search for the best transcript."""
