"""A collator of an installed package keeps every batch; the user only calls `fit`. The package lies where `pip install --target` would put it."""
import pathlib
import sys
import tempfile
import textwrap

import torch

FOLDER = pathlib.Path(tempfile.mkdtemp())
(FOLDER / "fitkit").mkdir()
(FOLDER / "fitkit-1.0.dist-info").mkdir()
(FOLDER / "fitkit-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: fitkit\nVersion: 1.0\n")
(FOLDER / "fitkit-1.0.dist-info" / "RECORD").write_text("fitkit/__init__.py,,\nfitkit/padding.py,,\n")
(FOLDER / "fitkit" / "padding.py").write_text(textwrap.dedent("""
    import torch

    class Padder:
        def __init__(self):
            self.log = []

        def __call__(self, rows):
            widest = max(len(row) for row in rows)
            batch = torch.stack([torch.nn.functional.pad(row, (0, widest - len(row))) for row in rows])
            self.log.append(batch)
            return batch
"""))
(FOLDER / "fitkit" / "__init__.py").write_text(textwrap.dedent("""
    import torch
    from .padding import Padder

    def fit(model, rows, epochs, batch_size=8):
        loader = torch.utils.data.DataLoader(rows, batch_size=batch_size, shuffle=True, collate_fn=Padder())
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(epochs):
            for batch in loader:
                optimizer.zero_grad()
                model(batch[:, :256]).square().mean().backward()
                optimizer.step()
"""))
sys.path.insert(0, str(FOLDER))
import fitkit  # noqa: E402

torch.set_num_threads(1)
rows = [torch.randn(256 + 16 * (i % 40)) for i in range(320)]
model = torch.nn.Sequential(torch.nn.Linear(256, 128), torch.nn.ReLU(), torch.nn.Linear(128, 1))
fitkit.fit(model, rows, epochs=6)  # HERE
