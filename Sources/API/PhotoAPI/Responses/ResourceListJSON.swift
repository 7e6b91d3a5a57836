/// The files of an asset, as clients see them.
struct ResourceListJSON: Encodable {
  let resources: [ResourceJSON]
}

struct ResourceJSON: Encodable {
  let type: String
  let uti: String?
  let filename: String
  let size: Int64?
  let isLocal: Bool

  private enum Key: String, CodingKey { case type, uti, filename, size, isLocal }

  // Every member is written; a value that is not known is null.
  func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: Key.self)
    try object.encode(type, forKey: .type)
    try object.encode(uti, forKey: .uti)
    try object.encode(filename, forKey: .filename)
    try object.encode(size, forKey: .size)
    try object.encode(isLocal, forKey: .isLocal)
  }
}
