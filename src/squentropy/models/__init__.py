"""The architectures that the paper's experiments use, one file each."""

from squentropy.models.efficientnet import efficientnet_b0
from squentropy.models.esim import ESIM
from squentropy.models.mlp import mlp
from squentropy.models.pairwise_word_interaction import PairwiseWordInteraction
from squentropy.models.resnet import ResNet18
from squentropy.models.resnet50 import resnet50
from squentropy.models.resnet50_tfjs import resnet50_from_tfjs
from squentropy.models.tcn import TemporalConvNet
from squentropy.models.transformer_xl import TransformerXL
from squentropy.models.vgg import VGG11
from squentropy.models.vit import vit
from squentropy.models.wide_resnet import WideResNet

__all__ = [
    "ESIM",
    "VGG11",
    "PairwiseWordInteraction",
    "ResNet18",
    "TemporalConvNet",
    "TransformerXL",
    "WideResNet",
    "efficientnet_b0",
    "mlp",
    "resnet50",
    "resnet50_from_tfjs",
    "vit",
]
