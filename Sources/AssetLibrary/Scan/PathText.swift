/// Whether a path lies below a folder, at any depth. The root is the empty path.
func isPath(_ path: [UInt8], below folder: [UInt8]) -> Bool {
  folder.isEmpty || path.starts(with: folder + [UInt8(ascii: "/")])
}

/// A path for people: what is no UTF-8 becomes U+FFFD.
func display(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self) }
