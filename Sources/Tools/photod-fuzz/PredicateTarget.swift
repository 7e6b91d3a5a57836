import PhotoModel
import PhotoPredicate

/// Predicates and sort descriptors. An error must lie within the text. A valid text is printed, parsed again,
/// evaluated, and turned into SQL with one value per placeholder.
enum PredicateTarget {
  static func check(_ bytes: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    for schema in [PropertySchema.asset, .collection] {
      for principal in [Principal.local, .anonymous] {
        predicate(text, schema, principal)
        sort(text, schema, principal)
      }
    }
  }

  private static func predicate(_ text: String, _ schema: PropertySchema, _ principal: Principal) {
    do throws(PredicateError) {
      let predicate = try FetchPredicate(text, schema: schema, principal: principal)
      // The printed text may be longer than the input.
      var limits = PredicateLimits()
      limits.characters *= 8
      let printed = "\(predicate)"
      let again = try FetchPredicate(printed, schema: schema, principal: principal, limits: limits)
      precondition(again == predicate && "\(again)".utf8.elementsEqual(printed.utf8), printed)
      let normalized = predicate.normalized
      for row in rows {
        precondition(predicate.matches(row) == normalized.matches(row), printed)
      }
      for predicate in [predicate, normalized] {
        let condition = SQLCondition(predicate, columns: columns(schema))
        precondition(condition.sql.utf8.count { $0 == UInt8(ascii: "?") } == condition.values.count, printed)
      }
    } catch {
      check(error, text)
    }
  }

  private static func sort(_ text: String, _ schema: PropertySchema, _ principal: Principal) {
    do throws(PredicateError) {
      let sort = try FetchSortDescriptors(text, schema: schema, principal: principal)
      let again = try FetchSortDescriptors("\(sort)", schema: schema, principal: principal)
      precondition(again == sort)
    } catch {
      check(error, text)
    }
  }

  private static func check(_ error: PredicateError, _ text: String) {
    precondition((0...text.unicodeScalars.count).contains(error.offset) && !"\(error)".isEmpty, text)
  }

  private static func columns(_ schema: PropertySchema) -> SQLColumns {
    SQLColumns(
      Dictionary(
        uniqueKeysWithValues: (schema.keys + schema.keysWithoutLocation).map {
          ($0.column, SQLColumns.Column($0.name))
        }), schema: schema)
  }

  private struct Row: PropertyRow {
    let text: String?
    let number: Int64

    func value(for key: PropertyKey) -> PropertyValue? {
      if key.isNullable, text == nil { return nil }
      return switch key.type {
      case .boolean: .boolean(number & 1 == 1)
      case .integer, .options: .integer(number)
      case .real: .real(Double(number))
      case .string: .string(text ?? "")
      case .strings: .strings([text ?? "", "a"])
      case .date: .date(Timestamp(milliseconds: number))
      case .enumeration(let enumeration): .name(enumeration.cases[Int(number & 3)].name)
      }
    }
  }

  private static let rows = [
    Row(text: nil, number: 0), Row(text: "IMG_0001.JPG", number: 4000), Row(text: "e\u{301}\u{10FFFF}", number: .max),
  ]
}
