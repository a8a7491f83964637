"""Holders of device and pinned memory, with a CUDA build of torch: run.py --cuda LIBRARIES. See known.py."""
from known import COUNT, SIZE, case, main


def on_device(count=SIZE // 4):
    import torch
    return torch.empty(count, device="cuda")


@case(r"keep\[\*\]")
def device_tensors():
    global keep
    keep = [on_device() for i in range(COUNT)]


@case(r"keep\[\*\]\['x'\]\[1\]")
def views_of_device_tensors():
    global keep
    keep = [{"x": (i, on_device()[7:])} for i in range(COUNT)]


@case(r"keep\[\*\]")
def device_storages():
    global keep
    keep = [on_device().untyped_storage() for i in range(COUNT)]


@case(r"module\._forward_hooks\[.*\]\.<closure outputs>\[\*\]")
def closure_of_a_hook_on_a_device():
    import torch
    global module
    module = torch.nn.Linear(10, SIZE // 4, device="cuda")

    def watch():
        outputs = []
        module.register_forward_hook(lambda m, inputs, output: outputs.append(output.detach()))
    watch()
    with torch.no_grad():
        for i in range(COUNT):
            module(on_device(10).reshape(1, 10))


@case(r"losses\[\*\].*<graph.*")
def graphs_on_a_device():
    import torch
    global losses
    losses = []
    weight = torch.empty(SIZE // 4, device="cuda", requires_grad=True)
    for i in range(COUNT):
        losses.append((weight * on_device()).exp().mean())


@case(r"parameters\[\*\](\.grad)?")
def gradients_on_a_device():
    import torch
    global parameters
    parameters = [torch.empty(SIZE // 4, device="cuda", requires_grad=True) for i in range(COUNT)]
    for parameter in parameters:
        parameter.sum().backward()


@case(r"optimizer\.state(\[\*\]\['exp_avg(_sq)?'\]|<key>)|optimizer\.param_groups\[0\]\['params'\]\[\*\]")
def state_of_an_optimizer_on_a_device():
    import torch
    global optimizer
    optimizer = torch.optim.Adam([torch.nn.Parameter(on_device()) for i in range(COUNT)], foreach=False)
    for parameter in optimizer.param_groups[0]["params"]:
        parameter.grad = on_device()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


@case(r"net\..*(_parameters|_modules).*|net\.\*.*")
def weights_of_a_module():
    import torch
    global net
    net = torch.nn.Sequential(*[torch.nn.Linear(SIZE // 40, 10, bias=False) for i in range(COUNT)]).cuda()


@case(r"batches\[\*\]\['images'\]")
def pinned_tensors():
    import torch
    global batches
    batches = [{"images": torch.empty(SIZE // 4, pin_memory=True), "i": i} for i in range(COUNT)]


@case(r"prefetched\.queue\[\*\](\[[0*]\]|\+)")
def pinned_batches_of_a_loader():
    import queue
    import torch
    global prefetched
    prefetched = queue.Queue()
    data = torch.utils.data.TensorDataset(torch.empty(COUNT, SIZE // 4))
    for batch in torch.utils.data.DataLoader(data, batch_size=1, pin_memory=True):
        prefetched.put(batch)


if __name__ == "__main__":
    main()
