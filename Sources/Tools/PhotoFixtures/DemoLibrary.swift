import FoundationEssentials

/// A small demo library: landscapes from several cameras, upright and turned, with dates and places, in folders. It
/// also has a burst, a RAW file with its JPEG, a live photo, a video, a picture of high dynamic range, and people's
/// names. DemoLibrary+Kinds.swift writes these.
package enum DemoLibrary {
  private struct Shot {
    let path: String
    let width: Int
    let height: Int
    let orientation: Int
    let date: String
    let offset: String?
    let place: (latitude: Double, longitude: Double)?
    let camera: (make: String, model: String)
  }

  static let phone = (make: "Demo", model: "Pocket 6")
  static let camera = (make: "Demo", model: "Reflex II")

  private static let shots = [
    Shot(
      path: "2023/Alps/first light.jpg", width: 2400, height: 1600, orientation: 1, date: "2023:07:14 05:41:20",
      offset: "+02:00", place: (46.5590, 7.8925), camera: camera),
    Shot(
      path: "2023/Alps/lake.jpg", width: 2400, height: 1600, orientation: 1, date: "2023:07:14 09:12:03",
      offset: "+02:00", place: (46.6863, 7.8632), camera: camera),
    Shot(
      path: "2023/Alps/portrait of a hill.jpg", width: 1600, height: 2400, orientation: 6, date: "2023:07:15 18:30:44",
      offset: "+02:00", place: (46.6242, 8.0414), camera: phone),
    Shot(
      path: "2023/upside down.jpg", width: 2400, height: 1800, orientation: 3, date: "2023:10:02 12:00:00", offset: nil,
      place: nil, camera: phone),
    Shot(
      path: "2024/Wien/Donau.jpg", width: 2400, height: 1800, orientation: 8, date: "2024:05:06 07:08:09",
      offset: "+02:00", place: (48.2082, 16.3738), camera: phone),
    Shot(
      path: "2024/Wien/mirrored.jpg", width: 1800, height: 1200, orientation: 2, date: "2024:05:06 19:21:00",
      offset: "+02:00", place: (48.1858, 16.3122), camera: phone),
    Shot(
      path: "2024/日本/湖.jpg", width: 2400, height: 1600, orientation: 1, date: "2024:11:03 16:02:11", offset: "+09:00",
      place: (35.4837, 138.7950), camera: camera),
    Shot(
      path: "2022/panorama.jpg", width: 4800, height: 1200, orientation: 1, date: "2022:02:20 10:10:10",
      offset: "+00:00", place: (-33.9628, 18.4098), camera: camera),
  ]

  /// Writes the library into a folder, which is created. Returns the paths in order.
  ///
  /// - Parameter scale: scales the sides of all photographs; tests use small ones.
  package static func write(to folder: String, scale: Double = 1) throws -> [String] {
    var paths: [String] = []
    for (seed, shot) in shots.enumerated() {
      let upright = Scene(seed: seed + 11).pixels(
        width: Int(Double(shot.width) * scale), height: Int(Double(shot.height) * scale))
      let stored = upright.stored(orientation: shot.orientation)
      let file = JPEGFile { file in
        file.exif = EXIFBlock { exif in
          exif.orientation = shot.orientation
          exif.make = shot.camera.make
          exif.model = shot.camera.model
          exif.dateTimeOriginal = shot.date
          exif.offsetTimeOriginal = shot.offset
          exif.exposure = (aperture: 8, fraction: 250, iso: 100, focalLength: 35)
          exif.latitude = shot.place?.latitude
          exif.longitude = shot.place?.longitude
          exif.thumbnail = thumbnail(of: stored)
        }
      }
      try save(file.encoded(stored), shot.path, below: folder)
      paths.append(shot.path)
    }
    // A cut-out with soft edges, as a program saves it.
    let cutOut = Scene(seed: 3, grain: 0).pixels(width: 800, height: 800)
    var rgba = Pixels(width: 800, height: 800, channels: 4)
    for y in 0..<800 {
      for x in 0..<800 {
        let distance = (Double((x - 400) * (x - 400) + (y - 400) * (y - 400))).squareRoot()
        let alpha = UInt8(min(max((380 - distance) * 12, 0), 255))
        rgba.bytes.replaceSubrange((y * 800 + x) * 4..<(y * 800 + x) * 4 + 4, with: Array(cutOut[x, y]) + [alpha])
      }
    }
    try save(PNGFile(.rgba(depth: 8)).encoded(rgba), "graphics/cut-out.png", below: folder)
    // The cut-out has no embedded date. An old file date keeps a photograph the newest asset.
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1_640_995_200)], ofItemAtPath: folder + "/graphics/cut-out.png")
    return paths + ["graphics/cut-out.png"] + (try writeKinds(to: folder, scale: scale))
  }

  /// A thumbnail of 160x120 as cameras write it: the whole picture, with black bars if its shape differs.
  package static func thumbnail(of stored: Pixels) -> [UInt8] {
    let isWide = stored.width >= stored.height
    let (width, height) = isWide ? (160, 120) : (120, 160)
    let scale = min(Double(width) / Double(stored.width), Double(height) / Double(stored.height))
    let (w, h) = (Int((Double(stored.width) * scale).rounded()), Int((Double(stored.height) * scale).rounded()))
    let small = stored.averaged(width: w, height: h)
    var frame = Pixels(width: width, height: height, channels: 3)
    let (left, top) = ((width - w) / 2, (height - h) / 2)
    for y in 0..<h {
      let to = ((y + top) * width + left) * 3
      frame.bytes.replaceSubrange(to..<to + w * 3, with: small.bytes[y * w * 3..<(y + 1) * w * 3])
    }
    return JPEGFile { $0.quality = 75 }.encoded(frame)
  }

  static func save(_ bytes: [UInt8], _ path: String, below folder: String) throws {
    let whole = folder + "/" + path
    let parent = whole[..<(whole.lastIndex(of: "/") ?? whole.startIndex)]
    try FileManager.default.createDirectory(atPath: String(parent), withIntermediateDirectories: true)
    try Data(bytes).write(to: URL(filePath: whole), options: .atomic)
  }
}
