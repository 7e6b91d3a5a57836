# syntax=docker/dockerfile:1
# Build:  docker build -t photod .
# Run:    docker run -p 127.0.0.1:8080:8080 -v /path/to/photos:/photos:ro -v photod-data:/data photod --allow-anonymous
#
# The steps are those of scripts/run. The runtime image has the C libraries, photod, and its decoder and encoder
# programs, but no toolchain: the Swift runtime is linked into photod.

FROM swift:6.2-bookworm AS build
WORKDIR /src
COPY scripts scripts
RUN bash -c '. scripts/lib.sh && set_up'
COPY Package.swift LICENSE ./
COPY Sources Sources
COPY Tests Tests
RUN bash -c '. scripts/lib.sh && build_programs --static-swift-stdlib' \
    && install -D -s -t /out .build/release/photod $(find .build/release/ -maxdepth 1 -name "photod-*coder-*" -type f -perm -u+x)

FROM debian:bookworm-slim
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends libjpeg62-turbo libpng16-16 libexif12 libexpat1 liblcms2-2 libsqlite3-0 zlib1g libisal2 libbrotli1 libcurl4 libssl3 ca-certificates libwebp7 libde265-0 libdav1d6 libjxl0.7 libavcodec59 libraw20 libaom3 libstdc++6 tzdata \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /data photod \
    && install -d -o photod -g photod /data /photos
COPY --from=build /out/ /usr/local/bin/
COPY config/photod.json /etc/photod/photod.json
USER photod
ENV PHOTOD_CONFIG=/etc/photod/photod.json PHOTOD_LIBRARY=/photos PHOTOD_DATA=/data PHOTOD_LISTEN=0.0.0.0:8080
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=6s --start-period=5s CMD ["photod", "health"]
ENTRYPOINT ["photod", "serve"]
