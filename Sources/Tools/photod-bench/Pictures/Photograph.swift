import Foundation

/// An original, and what photod says of it.
struct Photograph {
  let path: String
  let storedSize: Dimensions
  let isJPEG: Bool
  let isProgressive: Bool
  let hasAlpha: Bool
  /// Stored on its side.
  let isTurned: Bool

  var name: String { (path as NSString).lastPathComponent }

  /// What its cost depends on most.
  var kind: String { !isJPEG ? "PNG" : isProgressive ? "progressive JPEG" : "baseline JPEG" }

  init(path: String, photod: PhotodCommand) throws {
    let plan = try photod.plan(path, Target(16, 16, "aspectFit"), format: "png")
    self.path = path
    storedSize = plan.storedSize
    isJPEG = plan.format == "jpeg"
    isProgressive = plan.isProgressive
    hasAlpha = plan.hasAlpha
    isTurned = plan.orientation > 4
  }
}
