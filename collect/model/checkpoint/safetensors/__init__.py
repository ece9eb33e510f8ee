"""Safetensors files: what their headers say, and their tensors as stored."""
