// swift-tools-version: 6.1

// A contestant of scripts/bench serve: a hummingbird (SwiftNIO) server that sends one file from memory. It is built in a
// separate folder and is not part of photod.

import PackageDescription

let package = Package(
  name: "hummingbird-bench",
  platforms: [.macOS(.v14)],
  dependencies: [.package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1")],
  targets: [
    .executableTarget(
      name: "hummingbird-bench", dependencies: [.product(name: "Hummingbird", package: "hummingbird")])
  ]
)
