"""Interventions on networks for images: training on an accelerator, and what their stored outputs show."""
