"""What a Python program can tell Plateau, and what its tests can ask of it.

plateau_trace.mark             steps, epochs, phases and notes; does nothing without the recorder
plateau_trace.trainer_callback the same for the Hugging Face Trainer
plateau_trace.pytest_plugin    @pytest.mark.plateau_no_leak
"""
