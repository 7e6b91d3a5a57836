// swift-tools-version: 6.2

import Foundation
import PackageDescription

// Sources/photod/photod.docc/Architecture.md has the table of modules; scripts/check-statements checks it.

let strict: [SwiftSetting] = [.enableUpcomingFeature("ExistentialAny")]
// Optimised in debug builds too, assertions included: tests spend their time in loops over pixels.
let optimized: [SwiftSetting] = [
  .unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))
]
// Optimised for size: commands, tokens, metrics, values, the image service, parsers of metadata and of short texts, and
// what waits for disks, networks, SQLite and workers.
let small: [SwiftSetting] = [.unsafeFlags(["-Osize"], .when(configuration: .release))]
let optimizedC: [CSetting] = [.unsafeFlags(["-O2"], .when(configuration: .debug))]

/// The folders of Sources. `photod` itself has no wing.
enum Wing: String {
  case common = "Common"
  case http = "HTTP"
  case imaging = "Imaging"
  case library = "Library"
  case service = "Service"
  case api = "API"
  case tools = "Tools"

  func path(_ name: String) -> String { "Sources/\(rawValue)/\(name)" }

  func module(
    _ name: String, _ dependencies: [Target.Dependency] = [], settings: [SwiftSetting] = []
  ) -> Target {
    .target(name: name, dependencies: dependencies, path: path(name), swiftSettings: strict + settings)
  }

  func executable(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: path(name), swiftSettings: strict)
  }

  /// A module written in C.
  func c(
    _ name: String, _ linked: [String] = [], excluding excluded: [String] = [], settings: [CSetting] = []
  ) -> Target {
    .target(
      name: name, path: path(name), exclude: excluded, cSettings: settings,
      linkerSettings: linked.map { .linkedLibrary($0) })
  }

  /// The module map of a library of the system.
  func system(_ name: String, _ pkgConfig: String, _ package: String) -> Target {
    .systemLibrary(name: name, path: path(name), pkgConfig: pkgConfig, providers: [.apt([package])])
  }
}

/// Decoder and encoder programs of codecs whose library is installed, by its header. A build without a library has no
/// such program, and says so in `photod --version`.
let decoders: [(name: String, libraries: [String], header: String)] = [
  ("photod-decoder-webp", ["webp"], "webp/decode.h"),
  ("photod-decoder-hevc", ["de265"], "libde265/de265.h"),
  ("photod-decoder-av1", ["dav1d"], "dav1d/dav1d.h"),
  ("photod-decoder-jxl", ["jxl"], "jxl/decode.h"),
  ("photod-decoder-avcodec", ["avcodec", "avutil"], "libavcodec/avcodec.h"),
  ("photod-decoder-raw", ["raw"], "libraw/libraw.h"),
  ("photod-encoder-webp", ["webp"], "webp/encode.h"),
  ("photod-encoder-avif", ["aom"], "aom/aomcx.h"),
  ("photod-encoder-jxl", ["jxl"], "jxl/encode.h"),
].filter { decoder in
  let folders = ["", "/x86_64-linux-gnu", "/aarch64-linux-gnu"].map { "/usr/include" + $0 }
  return (folders + ["/usr/local/include", "/opt/homebrew/include"]).contains {
    FileManager.default.fileExists(atPath: "\($0)/\(decoder.header)")
  }
}

/// A program in C, without Swift's runtime.
func decoderProgram(_ name: String, _ path: String, _ linked: [String] = []) -> Target {
  .executableTarget(
    name: name, dependencies: ["CDecoderWorker"], path: path, linkerSettings: linked.map { .linkedLibrary($0) })
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
// The product "Collections" would compile ropes and tree collections too, which take longer.
let deque: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
// SQLite's own functions, for what GRDB does not wrap.
let grdbSQLite: Target.Dependency = .product(name: "GRDBSQLite", package: "GRDB.swift")
let coreMetrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")

let package = Package(
  name: "photod",
  products: [
    .executable(name: "photod", targets: ["photod"])
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.2.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.7.0"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.8.0"),
  ],
  targets: [
    Wing.common.c("CPhotodSystem"),
    Wing.common.system("CZlib", "zlib", "zlib1g-dev"),
    Wing.common.system("CLibCrypto", "libcrypto", "libssl-dev"),
    // What both wings share, and nothing that belongs to one of them.
    Wing.common.module("Primitives"),
    Wing.common.module("JSONText"),
    Wing.common.module("PhotoModel", ["Primitives"], settings: small),
    Wing.common.module("DurableFiles", ["PhotoModel"], settings: small),
    Wing.common.module("Cryptography", ["CLibCrypto"], settings: small),
    Wing.common.module("Telemetry", ["Primitives", coreMetrics, logging], settings: small),

    Wing.http.module("HTTPCore", ["Primitives", "CZlib"]),
    Wing.http.module("HTTPServer", ["Primitives", "Telemetry", "HTTPCore", "CPhotodSystem", deque, logging]),

    Wing.imaging.c("CPhotodJPEG", ["jpeg"], settings: optimizedC),
    Wing.imaging.c("CPhotodPNG", ["png", "z", "isal"], settings: optimizedC),
    Wing.imaging.c("CPhotodKernels", settings: optimizedC),
    // Codecs in processes of their own: the daemon's side, and the programs' side.
    Wing.imaging.c("CPhotodDecoder"),
    Wing.imaging.c("CDecoderWorker", settings: optimizedC),
    Wing.imaging.module("DecoderWorkers", ["PhotoModel", "CPhotodDecoder", logging], settings: small),
    Wing.imaging.system("CLibExif", "libexif", "libexif-dev"),
    Wing.imaging.system("CBrotli", "libbrotlidec", "libbrotli-dev"),
    Wing.imaging.system("CExpat", "expat", "libexpat1-dev"),
    Wing.imaging.system("CLCMS2", "lcms2", "liblcms2-dev"),
    Wing.imaging.module("MediaMetadata", ["Primitives", "PhotoModel", "CLibExif", "CExpat", "CZlib"], settings: small),
    Wing.imaging.module(
      "ImageCodec", ["Primitives", "PhotoModel", "MediaMetadata", "CPhotodJPEG", "CPhotodPNG", "CZlib", "CBrotli"],
      settings: optimized),
    Wing.imaging.module(
      "ImageRender", ["Primitives", "PhotoModel", "MediaMetadata", "ImageCodec", "CPhotodKernels", "CLCMS2"],
      settings: optimized),

    Wing.library.module("PhotoPredicate", ["Primitives", "PhotoModel"], settings: small),
    Wing.library.module(
      "LibraryFolder", ["PhotoModel", "DurableFiles", "CPhotodSystem", "Cryptography"], settings: small),
    Wing.library.module(
      "LibraryCatalogue",
      [
        "Primitives", "PhotoModel", "DurableFiles", "PhotoPredicate", "ImageCodec", "LibraryFolder", grdb, grdbSQLite,
        "Cryptography",
      ], settings: small),
    Wing.library.module(
      "LibraryScan",
      ["Primitives", "PhotoModel", "MediaMetadata", "ImageCodec", "LibraryFolder", "LibraryCatalogue", logging],
      settings: small),
    Wing.library.module(
      "LibraryFiles",
      [
        "Primitives", "PhotoModel", "DurableFiles", "ImageCodec", "LibraryFolder", "LibraryCatalogue", "LibraryScan",
        "ObjectStores", logging,
      ], settings: small),

    Wing.library.module(
      "LibraryImport",
      [
        "Primitives", "PhotoModel", "MediaMetadata", "ImageCodec", "LibraryFolder", "LibraryCatalogue", "LibraryScan",
        "LibraryFiles", "Cryptography",
      ], settings: small),
    // libcurl's functions with variable arguments.
    Wing.library.c("CPhotodCurl", ["curl"]),
    Wing.library.module(
      "ObjectStores",
      ["Primitives", "PhotoModel", "DurableFiles", "LibraryFolder", "CPhotodCurl", "CExpat", "Cryptography"],
      settings: small),
    Wing.library.module(
      "RemoteScan",
      [
        "PhotoModel", "ImageCodec", "LibraryFolder", "LibraryCatalogue", "LibraryScan", "ObjectStores", logging,
      ], settings: small),
    Wing.library.module(
      "OriginalDownloads",
      ["Primitives", "PhotoModel", "DurableFiles", "LibraryFolder", "ObjectStores", deque, "Cryptography", logging],
      settings: small),

    Wing.service.system("CISAL", "libisal", "libisal-dev"),
    Wing.service.module("DiskCache", ["CISAL", grdb, "Cryptography", logging], settings: small),
    Wing.service.module("ZipFormat", ["Primitives", "CZlib"], settings: small),
    Wing.service.module(
      "ImageService",
      [
        "Primitives", "PhotoModel", "DurableFiles", "MediaMetadata", "ImageCodec", "ImageRender", "DiskCache",
        "CPhotodSystem", "Telemetry", deque, "Cryptography", logging,
      ], settings: small),

    Wing.service.module("SharedDerivatives", ["PhotoModel", "ObjectStores", "ImageService", logging], settings: small),

    Wing.api.module(
      "AccessControl", ["Primitives", "PhotoModel", "DurableFiles", "HTTPCore", grdb, "Cryptography", logging],
      settings: small),
    Wing.api.c("CEmbeddedFiles", excluding: ["gallery", "components.json"]),
    Wing.api.module(
      "PhotoAPI",
      [
        "Primitives", "JSONText", "PhotoModel", "PhotoPredicate", "Telemetry", "HTTPCore", "HTTPServer",
        "MediaMetadata", "ImageCodec", "AccessControl", "LibraryCatalogue", "LibraryFiles", "ImageService", "ZipFormat",
        "Cryptography", "CEmbeddedFiles", deque, logging,
      ]),

    .executableTarget(
      name: "photod",
      dependencies: [
        "Primitives", "JSONText", "PhotoModel", "DurableFiles", "Telemetry", "HTTPServer", "AccessControl",
        "LibraryCatalogue", "LibraryScan", "LibraryFiles", "LibraryFolder", "LibraryImport", "ImageService", "PhotoAPI",
        "DiskCache", "CPhotodSystem", "ImageCodec", "ImageRender", "MediaMetadata", "PhotoPredicate", "DecoderWorkers",
        "ObjectStores", "RemoteScan", "OriginalDownloads", "SharedDerivatives", argumentParser, "Cryptography", logging,
      ],
      swiftSettings: strict + small),

    // Pictures made from nothing, for the demo library, the benchmarks and the tests.
    Wing.tools.c("CPhotoFixtures", ["jpeg", "png", "z", "lcms2"], settings: optimizedC),
    Wing.tools.module("PhotoFixtures", ["CPhotoFixtures", "CZlib"], settings: optimized),
    Wing.tools.executable("photod-demo", ["PhotoFixtures", argumentParser]),
    // The codecs alone, for the limit that a render is measured against.
    Wing.tools.c("CPhotodBench", ["jpeg", "png", "z"]),
    Wing.tools.executable(
      "photod-bench",
      [
        "PhotoModel", "PhotoPredicate", "LibraryFolder", "LibraryCatalogue", "ImageCodec", "ImageRender",
        "ImageService", "DiskCache", "Telemetry", "PhotoFixtures", "CPhotodBench", argumentParser, grdb, logging,
      ]),
    // Everything that reads bytes from outside, for libFuzzer: scripts/fuzz. A plain build replays files.
    Wing.tools.c("CPhotodFuzz"),
    Wing.tools.executable(
      "photod-fuzz",
      [
        "HTTPCore", "PhotoModel", "PhotoPredicate", "MediaMetadata", "ImageCodec", "ImageRender", "ObjectStores",
        "PhotoFixtures", "CPhotodFuzz",
      ]),
    // Counts the allocations of whatever process links it: tests only.
    Wing.tools.c("CAllocationCounter"),
    Wing.tools.module("AllocationCounter", ["CAllocationCounter"]),

    tests("PrimitivesTests", ["Primitives"]),
    tests("JSONTextTests", ["JSONText", "PhotoFixtures"]),
    tests("PhotoModelTests", ["PhotoModel", "Primitives", "PhotoFixtures"]),
    tests("DurableFilesTests", ["DurableFiles"]),
    tests("PhotoPredicateTests", ["PhotoPredicate", "PhotoModel", "PhotoFixtures", grdb]),
    tests("TelemetryTests", ["Primitives", "Telemetry", coreMetrics, logging]),
    tests("ImageCodecTests", ["ImageCodec", "MediaMetadata", "PhotoModel", "PhotoFixtures"]),
    tests("HTTPCoreTests", ["HTTPCore", "PhotoFixtures"]),
    tests("HTTPServerTests", ["Primitives", "HTTPServer", "HTTPCore", "Telemetry", "CPhotodSystem", logging]),
    tests("DiskCacheTests", ["DiskCache", "PhotoFixtures", "disk-cache-writer", grdb, logging]),
    // Killed by DiskCacheTests in the midst of its writing.
    .executableTarget(
      name: "disk-cache-writer", dependencies: ["DiskCache", logging], path: "Tests/DiskCacheWriter",
      swiftSettings: strict),
    // Its allocations are counted by ImageServiceTests, which have it to themselves.
    .executableTarget(
      name: "image-storm",
      dependencies: [
        "ImageService", "ImageCodec", "PhotoModel", "Primitives", "PhotoFixtures", "AllocationCounter", "Telemetry",
        logging,
      ],
      path: "Tests/ImageStorm", swiftSettings: strict),
    tests(
      "ImageRenderTests",
      ["ImageRender", "ImageCodec", "MediaMetadata", "PhotoModel", "PhotoFixtures", "AllocationCounter"]),
    // Each version of the kernels that the processor can run.
    tests("KernelTests", ["CPhotodKernels", "PhotoFixtures"]),
    tests("MediaMetadataTests", ["MediaMetadata", "ImageCodec", "PhotoModel", "PhotoFixtures"]),
    // A library and its catalogue, for the tests of the three modules.
    .target(
      name: "LibraryFixtures",
      dependencies: ["PhotoModel", "ImageCodec", "LibraryCatalogue", "LibraryScan", "PhotoFixtures", logging],
      path: "Tests/LibraryFixtures", swiftSettings: strict),
    tests(
      "LibraryCatalogueTests",
      [
        "PhotoModel", "DurableFiles", "PhotoPredicate", "ImageCodec", "LibraryCatalogue", "LibraryScan", "LibraryFiles",
        "LibraryFixtures", "PhotoFixtures", grdb, logging,
      ]),
    tests(
      "LibraryScanTests",
      [
        "PhotoModel", "ImageCodec", "LibraryFolder", "LibraryCatalogue", "LibraryScan", "LibraryFixtures",
        "PhotoFixtures", grdb, logging,
      ]),
    // Servers in the test's own process that are a bucket or a web server, and misbehave on demand.
    .target(name: "StoreFixtures", dependencies: ["Cryptography"], path: "Tests/StoreFixtures", swiftSettings: strict),
    tests("CryptographyTests", ["Cryptography"]),
    tests("ObjectStoresTests", ["ObjectStores", "StoreFixtures", "PhotoModel", "PhotoFixtures"]),
    tests(
      "RemoteScanTests",
      [
        "RemoteScan", "PhotoModel", "ImageCodec", "LibraryCatalogue", "LibraryScan", "LibraryFixtures", "ObjectStores",
        "PhotoFixtures", logging,
      ]),
    tests(
      "OriginalDownloadsTests",
      ["OriginalDownloads", "ObjectStores", "PhotoModel", "PhotoFixtures", "Cryptography", logging]),
    tests(
      "LibraryFilesTests",
      [
        "PhotoModel", "ImageCodec", "LibraryFolder", "LibraryCatalogue", "LibraryScan", "LibraryFiles", "ObjectStores",
        "LibraryFixtures", "PhotoFixtures", grdb, logging,
      ]),
    tests(
      "LibraryImportTests",
      [
        "PhotoModel", "ImageCodec", "LibraryCatalogue", "LibraryScan", "LibraryFiles", "LibraryImport",
        "LibraryFixtures", "PhotoFixtures", "Cryptography", grdb, logging,
      ]),
    tests(
      "ImageServiceTests",
      [
        "ImageService", "ImageCodec", "ImageRender", "LibraryFolder", "DiskCache", "PhotoModel", "Primitives",
        "PhotoFixtures", "Telemetry", "image-storm", logging,
      ]),
    tests(
      "SharedDerivativesTests",
      ["SharedDerivatives", "ObjectStores", "StoreFixtures", "ImageService", "PhotoModel", "PhotoFixtures", logging]),
    // They start the decoder programs, and can't depend on them: the tests of all modules are one program.
    tests(
      "DecoderWorkersTests",
      ["DecoderWorkers", "ImageCodec", "MediaMetadata", "PhotoModel", "PhotoFixtures", logging]),
    // A codec that does what its tests say.
    decoderProgram("photod-decoder-test", "Tests/DecoderTestWorker"),
    tests("ZipFormatTests", ["ZipFormat", "CZlib"]),
    tests("AccessControlTests", ["AccessControl", "PhotoModel", "DurableFiles", grdb, logging]),
    tests(
      "EndToEndTests",
      [
        "PhotoFixtures", "StoreFixtures", "PhotoAPI", "HTTPCore", "AccessControl", "LibraryCatalogue", "ImageService",
        "PhotoModel", "Primitives", "ZipFormat", "photod", "CPhotodSystem", "Cryptography", grdb, logging,
      ]),
  ] + decoders.map { decoderProgram($0.name, Wing.imaging.path($0.name), $0.libraries) },
  swiftLanguageModes: [.v6]
)

// scripts/lib.sh asks for the programs only: the targets of contributors would take a tenth of a release build.
if Context.environment["PHOTOD_ONLY_PROGRAMS"] != nil {
  let tools: Set = [
    "photod-bench", "CPhotodBench", "photod-fuzz", "CPhotodFuzz", "photod-decoder-test", "LibraryFixtures",
    "StoreFixtures", "disk-cache-writer", "image-storm", "AllocationCounter", "CAllocationCounter",
  ]
  package.targets.removeAll { $0.type == .test || tools.contains($0.name) }
}
