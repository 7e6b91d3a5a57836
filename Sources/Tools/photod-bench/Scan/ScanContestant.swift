import Foundation

#if canImport(Glibc)
  import Glibc
#endif

/// A program that reads the headers of a library's files, as one process for all files.
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

  /// `photod scan` with a data folder. These libraries do not change, so the scan need not wait for files that are
  /// being written.
  static func scan(_ photod: String, _ library: String, data: String, settings: [String]) -> [String] {
    [photod, "scan", "--library", library, "--data", data, "--log-level", "error"]
      + (["scan.settleSeconds=0"] + settings).flatMap { ["--set", $0] }
  }

  /// exiv2 with the fields that a catalogue needs of each file. Fields that exiv2 reads anyway, such as the dimensions,
  /// are not printed.
  static func exiv2(_ library: ScanLibrary) -> Command {
    let keys = [
      "Exif.Image.Make", "Exif.Image.Model", "Exif.Image.Orientation", dateKey, "Exif.Photo.OffsetTimeOriginal",
      "Exif.Photo.SubSecTimeOriginal", "Exif.GPSInfo.GPSLatitude", "Exif.GPSInfo.GPSLongitude",
      "Exif.GPSInfo.GPSAltitude", "Xmp.xmp.Rating",
    ]
    // Its exit status depends on whether all files have these fields.
    return Command(["exiv2", "-q"] + keys.flatMap { ["-K", $0] } + ["pr"] + library.files, mayFail: true)
  }

  static let dateKey = "Exif.Photo.DateTimeOriginal"

  /// exiftool with the same fields, which reads the names from a file. The date comes first.
  static func exiftool(names: String) -> Command {
    let tags = [
      "DateTimeOriginal", "OffsetTimeOriginal", "SubSecTimeOriginal", "Make", "Model", "Orientation", "ImageSize",
      "GPSLatitude", "GPSLongitude", "GPSAltitude", "Rating",
    ]
    return Command(["exiftool", "-fast2", "-q", "-q", "-n", "-T"] + tags.map { "-\($0)" } + ["-@", names])
  }
}
