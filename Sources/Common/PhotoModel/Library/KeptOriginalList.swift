/// The originals that are kept on this machine.
package struct KeptOriginalList: Sendable, Hashable {
  /// The newest photographs first, as many as the limits allow.
  package var originals: [OriginalFile] = []
  /// Files and bytes beyond the limits.
  package var leftOut = 0
  package var leftOutBytes: Int64 = 0

  package init() {}
}
