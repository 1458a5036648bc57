"""Trained policies outside of training: on Showdown servers, and against players of other projects."""
