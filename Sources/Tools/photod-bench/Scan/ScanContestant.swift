import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// One of those who read the headers of a library's files: one process for all of them.
enum ScanContestant: CaseIterable {
  case firstScan, secondScan, exiv2, exiftool

  var name: String {
    switch self {
    case .firstScan: "photod scan, the first"
    case .secondScan: "photod scan, the second"
    case .exiv2: "exiv2"
    case .exiftool: "exiftool -fast2"
    }
  }

  /// `photod scan` with a data folder. Nobody writes to these libraries, so no file has to be waited for.
  static func scan(_ photod: String, _ library: String, data: String, settings: [String]) -> [String] {
    [photod, "scan", "--library", library, "--data", data, "--log-level", "error"]
      + (["scan.settleSeconds=0"] + settings).flatMap { ["--set", $0] }
  }

  /// The fields that a catalogue needs, of each file. What exiv2 reads anyway, as the dimensions, it need not print.
  static func exiv2(_ library: ScanLibrary) -> Command {
    let keys = [
      "Exif.Image.Make", "Exif.Image.Model", "Exif.Image.Orientation", dateKey, "Exif.Photo.OffsetTimeOriginal",
      "Exif.Photo.SubSecTimeOriginal", "Exif.GPSInfo.GPSLatitude", "Exif.GPSInfo.GPSLongitude",
      "Exif.GPSInfo.GPSAltitude", "Xmp.xmp.Rating",
    ]
    // Its status tells whether all of them had such fields.
    return Command(["exiv2", "-q"] + keys.flatMap { ["-K", $0] } + ["pr"] + library.files, mayFail: true)
  }

  static let dateKey = "Exif.Photo.DateTimeOriginal"

  /// The same of exiftool, which takes the names from a file. The date comes first.
  static func exiftool(names: String) -> Command {
    let tags = [
      "DateTimeOriginal", "OffsetTimeOriginal", "SubSecTimeOriginal", "Make", "Model", "Orientation", "ImageSize",
      "GPSLatitude", "GPSLongitude", "GPSAltitude", "Rating",
    ]
    return Command(["exiftool", "-fast2", "-q", "-q", "-n", "-T"] + tags.map { "-\($0)" } + ["-@", names])
  }
}
