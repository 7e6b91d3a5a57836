// swift-tools-version: 6.1

// A contestant of scripts/bench serve: SwiftNIO by way of hummingbird, answering with one file from memory. It is built in
// a folder of its own and is no part of photod.

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
