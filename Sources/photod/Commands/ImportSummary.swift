import LibraryImport

/// The lines that an import ends with.
struct ImportSummary {
  let lines: [String]

  init(_ report: ImportReport, isDryRun: Bool) {
    let seen = report.added + report.existing + report.failed
    var lines = [
      "\(isDryRun ? "would import" : "imported") \(seen) files: \(report.added) new, \(report.existing) already in the "
        + "library, \(report.failed) failed, \(report.skipped) skipped",
      "new albums: \(report.albumsMade)",
    ]
    if report.sidecarsAdded > 0 { lines.append("sidecars: \(report.sidecarsAdded) kept beside their pictures") }
    if report.unsupported > 0 {
      lines.append("unsupported: \(report.unsupported) files have formats that photod does not read")
    }
    if report.undated > 0 { lines.append("undated: \(report.undated) files have the date of their copy") }
    lines += Self.sorted(report.remarks).map { "note: \($0.value) \($0.key)" }
    lines += Self.sorted(report.unmappedFields).map { "not mapped: \($0.key), in \($0.value) descriptions" }
    self.lines = lines
  }

  /// Most frequent first.
  private static func sorted(_ counts: [String: Int]) -> [(key: String, value: Int)] {
    counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
  }
}
