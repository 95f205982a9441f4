"""Registers as arrays over lanes, each as small as its dependences allow."""
