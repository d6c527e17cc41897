// What may be written where, from a JSON Schema: the place in the YAML is read off the indentation above the cursor.

const KEY = /^(\s*)((?:- +)*)(?:"([^"]*)"|'([^']*)'|([^\s:#'"{}[\]-][^:#]*?))\s*:(?:\s|$)/;

export function completions(schema, context) {
  const line = context.state.doc.lineAt(context.pos);
  const before = line.text.slice(0, context.pos - line.from);
  const value = /^(\s*(?:- +)*)([\w$-]+):\s+(\S*)$/.exec(before);
  if (value) {
    const here = [...place(context.state.doc, line.number, indent(value[1])), value[2]];
    return options(values(schema, resolved(schema, here)), context.pos - value[3].length, context, value[3]);
  }
  const key = /^(\s*(?:- +)*)([\w$-]*)$/.exec(before);
  if (!key || (!key[2] && !context.explicit)) return null;
  const nodes = resolved(schema, place(context.state.doc, line.number, indent(key[1]), /- +$/.test(key[1])));
  return options(keys(schema, nodes), context.pos - key[2].length, context, key[2]);
}

function options(found, from, context, typed) {
  if (!found.length || (!typed && !context.explicit)) return null;
  return { from, options: found, validFor: /^[\w$-]*$/ };
}

function indent(text) {
  return text.length;
}

// The keys and, for a list, "[]" that lead to `column` in the line `number`, from the outside in.
function place(doc, number, column, item = false) {
  const path = item ? ["[]"] : [];
  let least = item ? doc.line(number).text.search(/\S/) : column;
  for (let at = number - 1; at > 0 && least >= 0; at -= 1) {
    const found = KEY.exec(doc.line(at).text);
    if (!found) continue;
    const [, space, dashes] = found;
    const name = found[3] ?? found[4] ?? found[5];
    const start = space.length + dashes.length;
    const nested = item || path[0] === "[]" ? space.length <= least && !(dashes && space.length === least) : start < least;
    if (dashes && start <= least && path[0] !== "[]") {
      if (start < least) path.unshift(name);
      path.unshift("[]");
      least = space.length;
      item = true;
      continue;
    }
    if (!nested) continue;
    path.unshift(name);
    least = start;
    item = false;
    if (dashes) { path.unshift("[]"); least = space.length; item = true; }
    else if (least === 0) break;
  }
  return path;
}

function resolved(schema, path) {
  let nodes = flat(schema, [schema]);
  for (const part of path) {
    nodes = flat(schema, nodes.flatMap((node) => {
      if (part === "[]") return node.items ? [node.items] : [];
      const own = node.properties?.[part];
      return own ? [own] : typeof node.additionalProperties === "object" ? [node.additionalProperties] : [];
    }));
  }
  return nodes;
}

// Schemas with their references and alternatives followed, each once.
function flat(schema, nodes, seen = new Set()) {
  return nodes.flatMap((node) => {
    if (!node || typeof node !== "object" || seen.has(node)) return [];
    seen.add(node);
    const parts = [...(node.anyOf ?? []), ...(node.oneOf ?? []), ...(node.allOf ?? [])];
    if (node.$ref) parts.push(node.$ref.split("/").slice(1).reduce((at, name) => at?.[name], schema));
    return [node, ...flat(schema, parts, seen)];
  });
}

function keys(schema, nodes) {
  const found = new Map();
  for (const node of nodes) {
    for (const [label, of] of Object.entries(node.properties ?? {})) {
      const wanted = (node.required ?? []).includes(label);
      found.set(label, { label, apply: `${label}: `, type: "property", boost: wanted ? 1 : 0, info: of.description, detail: wanted ? "required" : "" });
    }
  }
  return [...found.values()];
}

function values(schema, nodes) {
  const found = nodes.flatMap((node) => [...(node.enum ?? []), ...("const" in node ? [node.const] : []), ...(node.type === "boolean" ? [true, false] : [])]);
  return [...new Set(found.map(String))].map((label) => ({ label, type: "enum" }));
}
