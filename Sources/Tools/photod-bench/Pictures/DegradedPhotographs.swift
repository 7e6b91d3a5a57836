import PhotoFixtures

/// Photographs whose embedded pictures differ in cost: sent unchanged, trimmed, turned, both, and a preview that is
/// scaled down.
enum DegradedPhotographs {
  static var all: [(name: String, bytes: [UInt8])] {
    let square = Scene(seed: 3, grain: 8).pixels(width: 1600, height: 1200)
    let wide = square.cropped(x: 0, y: 0, width: 1600, height: 1067)
    func photograph(_ pixels: Pixels, orientation: Int) -> [UInt8] {
      JPEGFile {
        $0.exif = EXIFBlock {
          $0.orientation = orientation
          $0.thumbnail = DemoLibrary.thumbnail(of: pixels)
        }
      }.encoded(pixels)
    }
    let preview = JPEGFile { _ in }.encoded(square.averaged(width: 1440, height: 1080))
    return [
      ("4/3, as it is", photograph(square, orientation: 1)), ("3/2, trimmed", photograph(wide, orientation: 1)),
      ("4/3, turned", photograph(square, orientation: 6)),
      ("3/2, trimmed and turned", photograph(wide, orientation: 6)),
      (
        "4/3, preview of 1440x1080",
        MultiPictureFile(previews: [(type: 0x01_0002, bytes: preview)]).encoded(photograph(square, orientation: 1))
      ),
    ]
  }
}
