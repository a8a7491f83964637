# docker build -t plateau . && docker run --rm -v "$PWD:/work" plateau run -- python3 train.py
# The image has Plateau and Debian's Python; for your own one, copy the wheel out of it (/dist) and install it with pip.
FROM debian:12 AS build
COPY . /source
RUN cd /source && tools/setup && tools/wheel --only wheel --out /dist

FROM debian:12-slim
RUN apt-get update -q && apt-get install -q -y --no-install-recommends python3 python3-pip && rm -rf /var/lib/apt/lists/*
COPY --from=build /dist /dist
RUN pip install --no-index --break-system-packages /dist/*.whl
WORKDIR /work
ENTRYPOINT ["plateau"]
CMD ["doctor"]
