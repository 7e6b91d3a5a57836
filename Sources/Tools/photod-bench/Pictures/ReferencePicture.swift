import Foundation
import PhotoFixtures

/// A reference picture, made by libvips' command line regardless of time.
struct ReferencePicture {
  let benchPicture: BenchPicture
  /// Only its output size is used.
  let plan: PhotodCommand.Plan
  let folder: String

  /// The picture from a decode at a DCT scale in eighths; 8 is the full size.
  func picture(eighths: Int) throws -> Pixels { try Self.read(file(eighths: eighths)) }

  /// The same picture as a JPEG file.
  func jpeg(eighths: Int) throws -> String {
    let file = try file(eighths: eighths)
    try vips("jpegsave", file, folder + "/reference.jpeg", "--Q", "\(CodecFloor.quality)")
    return folder + "/reference.jpeg"
  }

  /// The pixels of a file, over middle gray where they are transparent.
  static func read(_ path: String) throws -> Pixels {
    guard let data = FileManager.default.contents(atPath: path), let picture = Pixels.decoded([UInt8](data)) else {
      throw BenchError(description: "\(path) can't be decoded")
    }
    var pixels = picture.pixels
    for i in stride(from: 0, to: pixels.bytes.count, by: 4) where pixels.bytes[i + 3] < 255 {
      let alpha = Int(pixels.bytes[i + 3])
      for c in i..<i + 3 { pixels.bytes[c] = UInt8((Int(pixels.bytes[c]) * alpha + 128 * (255 - alpha) + 127) / 255) }
    }
    return pixels.channels(3)
  }

  private func file(eighths: Int) throws -> String {
    let shrink = benchPicture.photograph.isJPEG ? "[shrink=\(8 / eighths)]" : ""
    let upright = folder + "/upright.v"
    try vips("autorot", benchPicture.photograph.path + shrink, upright)
    let (width, height) = (try side("width", of: upright), try side("height", of: upright))
    let full = benchPicture.photograph.isTurned ? benchPicture.uncropped.turned : benchPicture.uncropped
    var source = upright
    if benchPicture.photograph.hasAlpha {
      source = folder + "/premultiplied.v"
      try vips("premultiply", upright, source)
    }
    let reduced = folder + "/reduced.v"
    // gap 0: only Lanczos3, without a box filter before it.
    try vips(
      "resize", source, reduced, "\(Double(full.width) / Double(width))", "--vscale",
      "\(Double(full.height) / Double(height))", "--kernel", "lanczos3", "--gap", "0")
    var finished = reduced
    if benchPicture.photograph.hasAlpha {
      try vips("unpremultiply", reduced, folder + "/unpremultiplied.v")
      // A cast truncates, so the values are rounded first.
      try vips("round", folder + "/unpremultiplied.v", folder + "/rounded.v", "rint")
      try vips("cast", folder + "/rounded.v", folder + "/cast.v", "uchar")
      finished = folder + "/cast.v"
    }
    let result = folder + "/reference.png"
    let output = plan.output
    try vips("colourspace", finished, folder + "/srgb.v", "srgb")
    try vips(
      "crop", folder + "/srgb.v", result, "\((full.width - output.width) / 2)", "\((full.height - output.height) / 2)",
      "\(output.width)", "\(output.height)")
    return result
  }

  private func vips(_ words: String...) throws { try Command(["vips"] + words).run() }

  private func side(_ name: String, of path: String) throws -> Int {
    let text = try Command(["vipsheader", "-f", name, path]).text()
    guard let side = Int(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
      throw BenchError(description: "vipsheader does not print \(name)")
    }
    return side
  }
}
