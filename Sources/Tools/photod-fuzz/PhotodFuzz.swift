// Fuzzes the parsers of bytes from outside with libFuzzer.
//
//     photod-fuzz TARGET [libFuzzer's options and folders]
//     photod-fuzz TARGET FILE...                              replays each file, also without libFuzzer
//     photod-fuzz seeds FOLDER                                writes initial inputs, a folder for each target
//     photod-fuzz targets                                     prints the names of the targets
//
// `scripts/fuzz` builds it with libFuzzer and the address sanitizer. A plain build has neither and only replays files.

import CPhotodFuzz
import Foundation

@main
struct PhotodFuzz {
  static func main() throws {
    let arguments = CommandLine.arguments
    switch arguments.dropFirst().first {
    case "targets": for target in FuzzTarget.all { print(target.name) }
    case "seeds" where arguments.count == 3: try Seeds.write(to: arguments[2])
    case let name?:
      guard let target = FuzzTarget.all.first(where: { $0.name == name }) else { fallthrough }
      try target.run(arguments)
    default:
      print("photod-fuzz \(FuzzTarget.all.map(\.name).joined(separator: " | ")) | seeds FOLDER | targets")
      exit(64)
    }
  }
}

/// A parser to fuzz.
struct FuzzTarget: Sendable {
  let name: String
  let input: photod_fuzz_input

  static let all = [
    FuzzTarget(name: "jpeg") { run($0, $1, PictureTarget.jpeg) },
    FuzzTarget(name: "png") { run($0, $1, PictureTarget.png) },
    FuzzTarget(name: "gif") { run($0, $1, PictureTarget.check) },
    FuzzTarget(name: "bmp") { run($0, $1, PictureTarget.check) },
    FuzzTarget(name: "tiff") { run($0, $1, PictureTarget.check) },
    FuzzTarget(name: "exif") { run($0, $1, MetadataTarget.exif) },
    FuzzTarget(name: "xmp") { run($0, $1, MetadataTarget.xmp) },
    FuzzTarget(name: "iptc") { run($0, $1, MetadataTarget.iptc) },
    FuzzTarget(name: "mpf") { run($0, $1, MetadataTarget.multiPicture) },
    FuzzTarget(name: "gainmap") { run($0, $1, MetadataTarget.gainMap) },
    FuzzTarget(name: "container") { run($0, $1, ContainerTarget.check) },
    FuzzTarget(name: "location") { run($0, $1, LocationTarget.check) },
    FuzzTarget(name: "locationblock") { run($0, $1, LocationTarget.checkBlock) },
    FuzzTarget(name: "http") { run($0, $1, HTTPTarget.check) },
    FuzzTarget(name: "multipart") { run($0, $1, MultipartTarget.check) },
    FuzzTarget(name: "adjustments") { run($0, $1, AdjustmentTarget.check) },
    FuzzTarget(name: "predicate") { run($0, $1, PredicateTarget.check) },
    FuzzTarget(name: "store") { run($0, $1, StoreTarget.check) },
  ]

  func run(_ arguments: [String]) throws {
    guard photod_fuzz_has_driver() else {
      for path in arguments.dropFirst(2) {
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
        _ = input(bytes, bytes.count)
      }
      return
    }
    // libFuzzer refers to the arguments while it runs, and does not return after a finding.
    var pointers = ([arguments[0]] + arguments.dropFirst(2)).map { strdup($0) }
    let status = photod_fuzz_run(Int32(pointers.count), &pointers, input)
    for pointer in pointers { free(pointer) }
    exit(status)
  }

  private static func run(_ bytes: UnsafePointer<UInt8>?, _ count: Int, _ check: ([UInt8]) -> Void) -> Int32 {
    check(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
  }
}
