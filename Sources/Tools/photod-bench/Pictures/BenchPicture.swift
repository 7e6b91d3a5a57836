import ArgumentParser
import Foundation

/// A photograph at a size: one task for all contestants.
struct BenchPicture {
  let photograph: Photograph
  let target: Target

  /// JPEG if possible; PNG for pictures with alpha.
  var format: String { photograph.hasAlpha ? "png" : "jpeg" }

  /// The size before cropping, in stored orientation.
  var uncropped: Dimensions {
    let (stored, box) = (photograph.storedSize, photograph.isTurned ? target.size.turned : target.size)
    let across = Double(box.width) / Double(stored.width)
    let down = Double(box.height) / Double(stored.height)
    let scale = min(1, target.mode == "aspectFill" ? max(across, down) : min(across, down))
    func side(_ full: Int) -> Int { max(1, Int((Double(full) * scale + 0.5).rounded(.down))) }
    return Dimensions(width: side(stored.width), height: side(stored.height))
  }

  /// The smallest of libjpeg's scales, in eighths, that needs no enlarging.
  var smallestCoveringScale: Int {
    func covers(_ eighths: Int) -> Bool {
      (photograph.storedSize.width * eighths + 7) / 8 >= uncropped.width
        && (photograph.storedSize.height * eighths + 7) / 8 >= uncropped.height
    }
    return (1...8).first(where: covers) ?? 8
  }
}

struct Dimensions: Decodable {
  let width: Int
  let height: Int

  var turned: Dimensions { Dimensions(width: height, height: width) }
  var description: String { "\(width)x\(height)" }
}

/// `400x400:aspectFit`
struct Target: ExpressibleByArgument {
  let size: Dimensions
  let mode: String

  var description: String { "\(size.description) \(mode)" }

  init?(argument: String) {
    let parts = argument.split(separator: ":")
    let sides = (parts.first ?? "").split(separator: "x").compactMap { Int($0) }
    let mode = parts.count > 1 ? String(parts[1]) : "aspectFit"
    guard sides.count == 2, parts.count <= 2, ["aspectFit", "aspectFill"].contains(mode) else { return nil }
    self.init(sides[0], sides[1], mode)
  }

  init(_ width: Int, _ height: Int, _ mode: String) {
    size = Dimensions(width: width, height: height)
    self.mode = mode
  }
}
