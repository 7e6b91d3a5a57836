import ArgumentParser
import Foundation
import ImageCodec
import PhotoModel

/// Writes a copy of a file without locations, like a download by a caller without the scope `location`.
struct BlankFile: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "blank", abstract: "Write a copy of a file without places, for scripts/compare-locations.")

  @Argument(help: "The file.") var file: String
  @Argument(help: "The copy.") var output: String

  func run() throws {
    var bytes = [UInt8](try Data(contentsOf: URL(filePath: file)))
    let overlay = try LocationRemoval.overlay(of: MemoryByteSource(bytes))
    overlay.apply(to: &bytes)
    let rest = try LocationRemoval.overlay(of: MemoryByteSource(bytes))
    guard rest.isEmpty else { throw ValidationError("\(rest.patches.count) patches are left after the first removal") }
    try Data(bytes).write(to: URL(filePath: output))
  }
}
