import PhotoModel

/// The end of a page of the trash: the last record of the page. Clients get it as text, see ``TokenCodec``.
package struct TrashCursor: Sendable, Hashable {
  let deletedDate: Timestamp
  /// The row of the trash record.
  let record: Int64

  package init(deletedDate: Timestamp, record: Int64) {
    self.deletedDate = deletedDate
    self.record = record
  }
}
