import FoundationEssentials

/// The list of an HTTP origin: a JSON array of `{"path": "2024/a.jpg", "size": 12345, "etag": "\"…\""}`.
package enum Manifest {
  private struct Row: Decodable {
    private enum CodingKeys: CodingKey { case path, size, etag }

    let path: String
    /// `nil`: none, or not an integer of 64 bits. The row still says that there is an object.
    let size: Int64?
    let etag: String?

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      path = try container.decode(String.self, forKey: .path)
      size = try? container.decode(Int64.self, forKey: .size)
      etag = try? container.decode(String.self, forKey: .etag)
    }
  }

  /// The objects in the order of their keys. Rows that are not objects are skipped: a bad path, a size or an entity tag
  /// that is missing or of no use, a path that came before.
  package static func page(_ bytes: [UInt8]) throws(ObjectStoreError) -> ObjectPage {
    let rows: [Row]
    do {
      rows = try JSONDecoder().decode([Row].self, from: Data(bytes))
    } catch {
      throw .malformed(.unreadableDocument)
    }
    var page = ObjectPage()
    var keys: Set<ObjectKey> = []
    for row in rows {
      guard let key = ObjectKey(row.path), keys.insert(key).inserted else {
        page.skipped += 1
        continue
      }
      guard !key.isHidden else { continue }
      guard let size = row.size, size >= 0, let tag = row.etag.flatMap({ StoreResponseHead.strongTag($0) }) else {
        page.skipped += 1
        page.unidentified.append(key)
        continue
      }
      page.entries.append(
        ObjectPage.Entry(key: key, identity: ObjectIdentity(size: size, version: .entityTag(tag))))
    }
    page.entries.sort { $0.key < $1.key }
    return page
  }
}

/// The checksum of a whole object, as the field `Repr-Digest` has it (RFC 9530).
enum ReprDigest {
  static func sha256(_ field: String?) -> [UInt8]? {
    for member in (field ?? "").split(separator: ",") {
      let text = member.drop { $0 == " " }
      guard text.hasPrefix("sha-256=:"), text.hasSuffix(":") else { continue }
      return Self.sha256(base64: String(text.dropFirst(9).dropLast()))
    }
    return nil
  }

  /// 32 bytes; `nil` for anything else.
  static func sha256(base64: String) -> [UInt8]? {
    Data(base64Encoded: base64).flatMap { $0.count == 32 ? Array($0) : nil }
  }
}
