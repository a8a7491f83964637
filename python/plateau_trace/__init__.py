"""What a Python program can tell Plateau, and what its tests can ask of it.

plateau_trace.mark             steps, epochs, phases and notes; does nothing without the recorder
plateau_trace.trainer_callback the same for the Hugging Face Trainer, and numbers for its log
plateau_trace.integrations     numbers for the logs of Lightning, Keras and accelerate
plateau_trace.live             these numbers, for logs of your own
plateau_trace.notebook         %plateau and a Jupyter kernel that records
plateau_trace.pytest_plugin    @pytest.mark.plateau_no_leak
"""
