// Finds smaller versions of a TIFF's page, as pyramids of scanned pictures and maps have them: SubIFDs of the page
// (TIFF Technical Note 1), or pages after it with NewSubfileType 1 (TIFF 6.0 §8).

import PhotoModel

enum TIFFReductions {
  /// The smaller versions, smallest first. One that is damaged, or whose colours or orientation differ, is left out.
  ///
  /// - Parameter page: that of `directory`.
  /// - Throws: `readFailed`.
  static func read(
    of page: TIFFPage, _ directory: TIFFFile.Directory, in file: TIFFFile, _ reader: inout HeaderReader,
    limits: CodecLimits
  ) throws(CodecError) -> [TIFFPage] {
    var found: [TIFFPage] = []
    for candidate in try candidates(directory, in: file, &reader) {
      guard let reduction = try reduction(candidate, of: page, directory, in: file, &reader, limits) else { continue }
      found.append(reduction)
    }
    return found.sorted { $0.size.width < $1.size.width }
  }

  private static func candidates(
    _ directory: TIFFFile.Directory, in file: TIFFFile, _ reader: inout HeaderReader
  ) throws(CodecError) -> [TIFFFile.Directory] {
    var found: [TIFFFile.Directory] = []
    do throws(CodecError) {
      for offset in try file.numbers(of: directory[.subIFDs], atMost: ContainerLimits.reductions, &reader) {
        if let child = try file.directory(at: offset, &reader) { found.append(child) }
      }
      var next = directory.next
      while found.count < ContainerLimits.reductions, next != 0, let page = try file.directory(at: next, &reader) {
        // Another page or a mask ends the reductions of this page. So does a chain of directories that is a loop.
        guard try isReduction(page, in: file, &reader), !found.contains(where: { $0.offset == page.offset }) else {
          break
        }
        found.append(page)
        next = page.next
      }
    } catch {
      if case .readFailed = error { throw error }
      // The page itself may be sound: use the reductions that were found so far.
    }
    return found
  }

  private static func isReduction(
    _ directory: TIFFFile.Directory, in file: TIFFFile, _ reader: inout HeaderReader
  ) throws(CodecError) -> Bool {
    try (file.number(of: directory[.newSubfileType], &reader) ?? 0) & 5 == 1
  }

  private static func reduction(
    _ candidate: TIFFFile.Directory, of page: TIFFPage, _ directory: TIFFFile.Directory, in file: TIFFFile,
    _ reader: inout HeaderReader, _ limits: CodecLimits
  ) throws(CodecError) -> TIFFPage? {
    do throws(CodecError) {
      guard try isReduction(candidate, in: file, &reader) else { return nil }
      let orientation = try file.number(of: candidate[.orientation], &reader)
      let stated = try file.number(of: directory[.orientation], &reader)
      guard orientation == nil || orientation == stated else { return nil }
      var reduction = try TIFFPage(candidate, of: file, &reader, limits: limits)
      let (own, whole) = (reduction.size, page.size)
      // The aspect ratios may differ by the rounding of the smaller sides.
      let isAlike = abs(own.width * whole.height - own.height * whole.width) <= max(whole.width, whole.height)
      guard own.width < whole.width, isAlike, reduction.isLike(page) else { return nil }
      if reduction.embeddedProfile == nil { reduction.embeddedProfile = page.embeddedProfile }
      return reduction
    } catch {
      if case .readFailed = error { throw error }
      return nil
    }
  }
}

extension TIFFPage {
  /// Whether decoded rows have the same channels, and their colours the same meaning. JPEG-in-TIFF may keep a page in
  /// YCbCr and its smaller versions in RGB.
  fileprivate func isLike(_ other: TIFFPage) -> Bool {
    let isSameKind: Bool =
      switch (colors, other.colors) {
      case (.gray, .gray), (.inks, .inks), (.lab, .lab): true
      case (.rgb, .rgb), (.rgb, .yCbCr), (.yCbCr, .rgb), (.yCbCr, .yCbCr): true
      case (.palette, .palette), (.rgb, .palette), (.palette, .rgb): true
      default: false
      }
    return isSameKind && hasAlpha == other.hasAlpha && bitsPerChannel == other.bitsPerChannel
  }
}
