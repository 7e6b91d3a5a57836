// swift-tools-version: 6.2

import PackageDescription

// The modules and the arrows between them are drawn in Sources/photod/photod.docc/Architecture.md;
// scripts/check-imports holds the sources to that table.

let strict: [SwiftSetting] = [.enableUpcomingFeature("ExistentialAny")]
// Optimised in debug builds too, assertions included: tests spend their time in loops over pixels.
let optimized: [SwiftSetting] = [
  .unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))
]
let optimizedC: [CSetting] = [.unsafeFlags(["-O2"], .when(configuration: .debug))]

func library(
  _ name: String, _ dependencies: [Target.Dependency] = [], settings: [SwiftSetting] = []
) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict + settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let collections: Target.Dependency = .product(name: "Collections", package: "swift-collections")
let configuration: Target.Dependency = .product(name: "Configuration", package: "swift-configuration")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
// SQLite's own functions, for what GRDB does not wrap.
let grdbSQLite: Target.Dependency = .product(name: "GRDBSQLite", package: "GRDB.swift")
let coreMetrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")

let systemPackage: Target.Dependency = .product(name: "SystemPackage", package: "swift-system")

let package = Package(
  name: "photod",
  products: [
    .executable(name: "photod", targets: ["photod"])
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.6.0"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.2.0"),
    .package(url: "https://github.com/apple/swift-configuration", from: "1.0.0"),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.0.0"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.7.0"),
    .package(url: "https://github.com/apple/swift-system", from: "1.5.0"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.8.0"),
  ],
  targets: [
    // What Swift can't say.
    .target(name: "CPhotodJPEG", cSettings: optimizedC, linkerSettings: [.linkedLibrary("jpeg")]),
    .target(
      name: "CPhotodPNG", cSettings: optimizedC,
      linkerSettings: [.linkedLibrary("png"), .linkedLibrary("z"), .linkedLibrary("isal")]),
    .target(name: "CPhotodSystem"),
    .target(name: "CPhotodKernels", cSettings: optimizedC),
    .systemLibrary(name: "CISAL", pkgConfig: "libisal", providers: [.apt(["libisal-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(
      name: "CLibExif", pkgConfig: "libexif", providers: [.apt(["libexif-dev"])]),
    .systemLibrary(name: "CExpat", pkgConfig: "expat", providers: [.apt(["libexpat1-dev"])]),
    .systemLibrary(
      name: "CLCMS2", pkgConfig: "lcms2", providers: [.apt(["liblcms2-dev"])]),

    // The house.
    library("PhotoModel"),
    library("PhotoPredicate", ["PhotoModel"]),
    library("Telemetry", [coreMetrics, logging]),
    library("HTTPCore", ["CZlib"]),
    library("HTTPServer", ["HTTPCore", "Telemetry", "CPhotodSystem", collections, logging]),
    library("MediaMetadata", ["PhotoModel", "CLibExif", "CExpat", "CZlib"]),
    library(
      "ImageCodec", ["PhotoModel", "MediaMetadata", "CPhotodJPEG", "CPhotodPNG"], settings: optimized),
    library(
      "ImageRender", ["PhotoModel", "MediaMetadata", "ImageCodec", "CPhotodKernels", "CLCMS2"],
      settings: optimized),
    library("LibraryFolder", ["PhotoModel", "CPhotodSystem", crypto]),
    library(
      "AssetLibrary",
      [
        "PhotoModel", "PhotoPredicate", "MediaMetadata", "ImageCodec", "LibraryFolder", "Telemetry", grdb,
        grdbSQLite, crypto, logging,
      ]),
    library("DiskCache", ["CISAL", grdb, crypto, logging]),
    library("AccessControl", ["PhotoModel", "HTTPCore", grdb, crypto, logging]),
    library("OriginalStore", ["PhotoModel", "LibraryFolder"]),
    library(
      "ImageService",
      [
        "PhotoModel", "MediaMetadata", "ImageCodec", "ImageRender", "OriginalStore", "DiskCache", "CPhotodSystem",
        "Telemetry", collections,
        crypto, logging,
      ]),
    .target(
      name: "PhotoAPI",
      dependencies: [
        "PhotoModel", "PhotoPredicate", "Telemetry", "HTTPCore", "HTTPServer", "MediaMetadata", "ImageCodec",
        "ImageRender",
        "AccessControl", "AssetLibrary", "OriginalStore", "ImageService", logging,
      ],
      resources: [.embedInCode("Resources/openapi.json")],
      swiftSettings: strict),
    .executableTarget(
      name: "photod",
      dependencies: [
        "PhotoModel", "Telemetry", "HTTPServer", "AccessControl", "AssetLibrary", "LibraryFolder", "OriginalStore",
        "ImageService",
        "PhotoAPI", "DiskCache", "CPhotodSystem", "ImageCodec", "ImageRender", argumentParser, configuration, crypto,
        logging, systemPackage,
      ],
      swiftSettings: strict),

    // Pictures made from nothing, for the demo library, the benchmarks and the tests.
    .target(
      name: "CPhotoFixtures", cSettings: optimizedC,
      linkerSettings: [
        .linkedLibrary("jpeg"), .linkedLibrary("png"), .linkedLibrary("z"), .linkedLibrary("lcms2"),
      ]),
    library("PhotoFixtures", ["CPhotoFixtures"], settings: optimized),
    .executableTarget(
      name: "photod-bench",
      dependencies: [
        "PhotoModel", "PhotoPredicate", "LibraryFolder", "AssetLibrary", "ImageCodec", "ImageRender", "ImageService",
        "DiskCache", "PhotoFixtures", "CPhotodBench", argumentParser, grdb, logging,
      ],
      swiftSettings: strict),
    // The codecs alone, for the limit that a render is measured against.
    .target(
      name: "CPhotodBench", linkerSettings: [.linkedLibrary("jpeg"), .linkedLibrary("png"), .linkedLibrary("z")]),
    .executableTarget(
      name: "photod-demo", dependencies: ["PhotoFixtures", argumentParser], swiftSettings: strict),

    // Everything that reads bytes from outside, for libFuzzer: scripts/fuzz. A plain build replays files.
    .target(name: "CPhotodFuzz"),
    .executableTarget(
      name: "photod-fuzz",
      dependencies: [
        "HTTPCore", "PhotoModel", "PhotoPredicate", "MediaMetadata", "ImageCodec", "ImageRender", "PhotoFixtures",
        "CPhotodFuzz",
      ],
      swiftSettings: strict),

    // Counts the allocations of whatever process links it: tests only.
    .target(name: "CAllocationCounter"),
    library("AllocationCounter", ["CAllocationCounter"]),

    tests("PhotoModelTests", ["PhotoModel"]),
    tests("PhotoPredicateTests", ["PhotoPredicate", "PhotoModel", grdb]),
    tests("TelemetryTests", ["Telemetry", coreMetrics]),
    tests("ImageCodecTests", ["ImageCodec", "MediaMetadata", "PhotoModel", "PhotoFixtures"]),
    tests("HTTPCoreTests", ["HTTPCore"]),
    tests("HTTPServerTests", ["HTTPServer", "HTTPCore", logging]),
    tests("DiskCacheTests", ["DiskCache", "disk-cache-writer", grdb, logging]),
    // Killed by DiskCacheTests in the midst of its writing.
    .executableTarget(
      name: "disk-cache-writer", dependencies: ["DiskCache", logging], path: "Tests/DiskCacheWriter",
      swiftSettings: strict),
    // Its allocations are counted by ImageServiceTests, which have it to themselves.
    .executableTarget(
      name: "image-storm",
      dependencies: [
        "ImageService", "ImageCodec", "OriginalStore", "PhotoModel", "PhotoFixtures", "AllocationCounter", "Telemetry",
        logging,
      ],
      path: "Tests/ImageStorm", swiftSettings: strict),
    tests(
      "ImageRenderTests",
      ["ImageRender", "ImageCodec", "MediaMetadata", "PhotoModel", "PhotoFixtures", "AllocationCounter"]),
    tests("MediaMetadataTests", ["MediaMetadata", "ImageCodec", "PhotoModel", "PhotoFixtures"]),
    tests(
      "AssetLibraryTests",
      [
        "AssetLibrary", "LibraryFolder", "PhotoPredicate", "ImageCodec", "PhotoModel", "PhotoFixtures", grdb, logging,
      ]),
    tests(
      "ImageServiceTests",
      [
        "ImageService", "ImageCodec", "ImageRender", "OriginalStore", "LibraryFolder", "DiskCache", "PhotoModel",
        "PhotoFixtures", "Telemetry", "image-storm", logging,
      ]),
    tests("AccessControlTests", ["AccessControl", "PhotoModel", grdb, logging]),
    tests(
      "EndToEndTests",
      [
        "PhotoFixtures", "PhotoAPI", "HTTPCore", "AccessControl", "AssetLibrary", "ImageService", "PhotoModel",
        "photod", grdb, logging,
      ]),
  ],
  swiftLanguageModes: [.v6]
)
