"""A plugin of pytest that takes oneDNN out of torch's products; no variable of torch's does."""

import torch

torch.backends.mkldnn.set_flags(_enabled=False)
