import Foundation
import PhotoFixtures

#if canImport(Glibc)
  import Glibc
#endif

/// A library to scan: many copies of real photographs that differ in their dates or in a comment, so that no two files
/// have the same bytes. Kept between runs.
struct ScanLibrary {
  let folder: String
  /// Absolute paths, in order.
  let files: [String]
  let bytes: Int

  private static let filesPerFolder = 100

  /// Creates a library, or reuses the one that was made of the same photographs before.
  ///
  /// - Parameters:
  ///   - photographs: a folder of JPEGs and PNGs, with subfolders.
  ///   - cache: the folder of the libraries.
  init(of photographs: String, count: Int, in cache: String) throws {
    let place = URL(filePath: cache).standardizedFileURL.path + "/library-\(count)"
    let mark = place + "/complete"
    let origin = Data(URL(filePath: photographs).standardizedFileURL.path.utf8)
    folder = place + "/files"
    if FileManager.default.contents(atPath: mark) != origin {
      try? FileManager.default.removeItem(atPath: place)
      try Self.make(count, of: Self.photographs(in: photographs), in: folder)
      try origin.write(to: URL(filePath: mark))
    }
    files = try Self.photographs(in: folder)
    if files.count != count { throw BenchError(description: "\(folder) has lost files; remove it") }
    bytes = try files.reduce(0) {
      $0 + (try FileManager.default.attributesOfItem(atPath: $1)[.size] as? Int ?? 0)
    }
  }

  /// Creates a library of `count` hard links to the files of this one, a thousand per folder. Returns its path.
  func links(_ count: Int) throws -> String {
    let folder = URL(filePath: self.folder).deletingLastPathComponent().path + "/links-\(count)"
    let mark = folder + "/complete"
    if FileManager.default.fileExists(atPath: mark) { return folder + "/files" }
    try? FileManager.default.removeItem(atPath: folder)
    for number in 0..<count {
      let part = String(format: "%@/files/%03d", folder, number / 1000)
      if number % 1000 == 0 {
        try FileManager.default.createDirectory(atPath: part, withIntermediateDirectories: true)
      }
      let file = files[number % files.count]
      let name = String(format: "%@/%06d.%@", part, number, (file as NSString).pathExtension)
      guard link(file, name) == 0 else { throw BenchError(description: "\(name): \(String(cString: strerror(errno)))") }
    }
    try Data().write(to: URL(filePath: mark))
    return folder + "/files"
  }

  private static func photographs(in folder: String) throws -> [String] {
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder).sorted().filter {
      ["jpg", "jpeg", "png"].contains(($0 as NSString).pathExtension.lowercased())
    }
    if names.isEmpty { throw BenchError(description: "no photographs in \(folder)") }
    return names.map { folder + "/" + $0 }
  }

  private static func make(_ count: Int, of photographs: [String], in folder: String) throws {
    FileHandle.standardError.write(Data("making \(count) files in \(folder), once\n".utf8))
    var part = ""
    for number in 0..<count {
      if number % filesPerFolder == 0 {
        part = String(format: "%@/%03d", folder, number / filesPerFolder)
        try FileManager.default.createDirectory(atPath: part, withIntermediateDirectories: true)
      }
      let original = photographs[number % photographs.count]
      let ending = (original as NSString).pathExtension.lowercased()
      let name = String(format: "%@/IMG_%05d.%@", part, number, ending)
      let bytes = [UInt8](try Data(contentsOf: URL(filePath: original)))
      try Data(ending == "png" ? png(bytes, number) : jpeg(bytes, number)).write(to: URL(filePath: name))
      // An old modification date, as most files of a library have.
      let date = Date(timeIntervalSince1970: 1.1e9 + Double(number) * 3600)
      try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: name)
    }
  }

  // MARK: - Unique contents

  private static func jpeg(_ file: [UInt8], _ number: Int) -> [UInt8] {
    // A comment (T.81 §B.2.4.5) after the application segments, because EXIF should come first.
    var position = 2
    while position + 4 <= file.count, file[position] == 0xFF, (0xE0...0xEF).contains(file[position + 1]) {
      position += 2 + Int(file[position + 2]) << 8 + Int(file[position + 3])
    }
    let comment = Array("file \(number)".utf8)
    var file = dated(file, number)
    if position <= file.count {
      file.insert(contentsOf: [0xFF, 0xFE, 0, UInt8(comment.count + 2)] + comment, at: position)
    }
    return file
  }

  private static func png(_ file: [UInt8], _ number: Int) -> [UInt8] {
    var file = PNGChunks.withRightChecksums(dated(file, number))
    // After IHDR, whose length is fixed.
    file.insert(contentsOf: PNGChunks.chunk("tEXt", Array("Comment\0file \(number)".utf8)), at: 33)
    return file
  }

  /// Replaces each EXIF date in place by a date for this number: forty a day, a minute or two apart.
  private static func dated(_ file: [UInt8], _ number: Int) -> [UInt8] {
    var file = file
    let (day, second) = (number / 40, 36_000 + number % 40 * 97)
    let date = String(
      format: "%04d:%02d:%02d %02d:%02d:%02d", 2009 + day / 336, 1 + day % 336 / 28, 1 + day % 28, second / 3600,
      second / 60 % 60, second % 60)
    let bytes = Array(date.utf8)
    let end = min(file.count, 131_072) - 20
    var position = 0
    while position < end {
      if isDate(file[position..<position + 20]) {
        file.replaceSubrange(position..<position + 19, with: bytes)
        position += 20
      } else {
        position += 1
      }
    }
    return file
  }

  /// "YYYY:MM:DD HH:MM:SS" and a NUL (CIPA DC-008 §4.6.5).
  private static func isDate(_ bytes: ArraySlice<UInt8>) -> Bool {
    zip(bytes, "0000:00:00 00:00:00\0".utf8).allSatisfy { byte, shape in
      shape == UInt8(ascii: "0") ? (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) : byte == shape
    }
  }
}
