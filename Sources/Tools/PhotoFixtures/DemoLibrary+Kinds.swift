// One asset of each kind that the gallery marks: see DemoLibrary.swift.

import FoundationEssentials

extension DemoLibrary {
  /// Returns the paths in order.
  static func writeKinds(to folder: String, scale: Double) throws -> [String] {
    var paths: [String] = []
    func save(_ bytes: [UInt8], _ path: String) throws {
      try Self.save(bytes, path, below: folder)
      paths.append(path)
    }
    func pixels(_ seed: Int, _ width: Int, _ height: Int) -> Pixels {
      Scene(seed: seed).pixels(width: Int(Double(width) * scale), height: Int(Double(height) * scale))
    }

    // A burst: five pictures a second, while the camera turns.
    let wide = pixels(31, 2040, 1200)
    for number in 0..<5 {
      let view = wide.cropped(
        x: Int(Double(number * 110) * scale), y: 0, width: Int(1600 * scale), height: Int(1200 * scale))
      let file = photograph(
        view, camera, "2025:03:08 15:20:\(number < 3 ? "04" : "05")", fraction: ["10", "40", "70", "00", "30"][number])
      try save(file, "2025/Coast/DSC_0\(201 + number).jpg")
    }

    // A RAW file with the camera's JPEG, and one without.
    let pair = photograph(pixels(32, 2100, 1400), camera, "2025:03:08 16:41:12", fraction: "25")
    try save(pair, "2025/Coast/DSC_0260.jpg")
    try save(raw("nef", pair, "2025:03:08 16:41:12"), "2025/Coast/DSC_0260.nef")
    let single = photograph(pixels(33, 1800, 1200), camera, "2025:03:09 07:05:50")
    try save(raw("dng", single, "2025:03:09 07:05:50"), "2025/Coast/DSC_0271.dng")

    // A picture with names, and one with a gain map for screens of high dynamic range.
    let people = description(
      "The summit", keywords: ["summit", "friends"], people: ["Ada Lovelace", "Alan Turing"],
      place: ("Zermatt", "Switzerland"))
    try save(photograph(pixels(34, 2000, 1500), phone, "2025:06:21 12:00:41", xmp: people), "2025/Summit/IMG_0410.jpg")
    let evening = pixels(35, 1500, 2000)
    let gains = UltraHDRFile.glow(width: evening.width / 4, height: evening.height / 4)
    let bright = UltraHDRFile(evening, map: gains) { $0.dateTimeOriginal = "2025:06:21 20:58:03" }
    try save(bright.encoded, "2025/Summit/IMG_0415.jpg")

    // A live photo and a video. The photograph is the video's first frame.
    let size = PannedMovie.pictureSize(width: 640, height: 352)
    let live = Scene(seed: 36, grain: 2).pixels(width: size.width, height: size.height)
    let still = live.cropped(x: 0, y: 0, width: 640, height: 352)
    try save(photograph(still, phone, "2025:06:20 09:30:00"), "2025/Lake/IMG_0431.jpg")
    try save(PannedMovie(live, seconds: 3, created: 3_833_249_400).bytes, "2025/Lake/IMG_0431.mov")
    let video = Scene(seed: 37, grain: 2).pixels(width: size.width, height: size.height)
    try save(PannedMovie(video, seconds: 12, created: 3_833_251_200).bytes, "2025/Lake/boat.mp4")
    return paths
  }

  /// A JPEG with a clock of two hours ahead of UTC.
  private static func photograph(
    _ pixels: Pixels, _ camera: (make: String, model: String), _ date: String, fraction: String? = nil,
    xmp: String? = nil
  ) -> [UInt8] {
    JPEGFile { file in
      file.exif = EXIFBlock { exif in
        exif.make = camera.make
        exif.model = camera.model
        exif.dateTimeOriginal = date
        exif.subSecTimeOriginal = fraction
        exif.offsetTimeOriginal = "+02:00"
        exif.exposure = (aperture: 5.6, fraction: 500, iso: 200, focalLength: 50)
        exif.thumbnail = thumbnail(of: pixels)
      }
      if let xmp { file.segments = [.xmp(xmp)] }
    }.encoded(pixels)
  }

  /// A RAW file whose preview is this JPEG. It has no sensor data.
  private static func raw(_ format: String, _ preview: [UInt8], _ date: String) -> [UInt8] {
    let details = TIFFPicture.Details {
      ($0.model, $0.orientation, $0.dateTimeOriginal, $0.offsetTimeOriginal) = (camera.model, 1, date, "+02:00")
      $0.hasLocation = false
    }
    return RAWSamples.file(format, details, previews: [preview])
  }

  private static func description(
    _ title: String, keywords: [String], people: [String], place: (city: String, country: String)
  ) -> String {
    func bag(_ name: String, _ items: [String]) -> String {
      "<\(name)><r:Bag>\(items.map { "<r:li>\($0)</r:li>" }.joined())</r:Bag></\(name)>"
    }
    return packet(
      """
      <r:D xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:p="http://ns.adobe.com/photoshop/1.0/"
       xmlns:i="http://iptc.org/std/Iptc4xmpExt/2008-02-29/" p:City="\(place.city)" p:Country="\(place.country)">
      <dc:title><r:Alt><r:li xml:lang="x-default">\(title)</r:li></r:Alt></dc:title>
      \(bag("dc:subject", keywords))\(bag("i:PersonInImage", people))</r:D>
      """)
  }

  /// XMP with this `rdf:Description`, whose element is `r:D`.
  private static func packet(_ description: String) -> String {
    """
    <x:xmpmeta xmlns:x="adobe:ns:meta/"><r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\
    \(description.replacing("r:D", with: "r:Description"))</r:RDF></x:xmpmeta>
    """
  }
}
