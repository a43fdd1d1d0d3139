// Opens a pack (tools/website/packs.py): the length of an index, the index, and files end to end.

/** The bytes of a pack, of the answer to a fetch. */
export async function opened(answer) {
  const { ok, status, url, body } = await answer;
  if (!ok) throw new Error(`${url}: ${status}`);
  const content = body.pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(content).arrayBuffer());
}

/** Write its files into Python's file system. */
export function unpack(pack, files) {
  const length = new DataView(pack.buffer).getUint32(0, true);
  const index = JSON.parse(new TextDecoder().decode(pack.subarray(4, 4 + length)));
  const made = new Set();
  let begin = 4 + length;
  for (const [path, size] of index) {
    const folder = path.slice(0, path.lastIndexOf("/"));
    if (!made.has(folder)) files.mkdirTree(folder);
    made.add(folder);
    files.writeFile(path, pack.subarray(begin, begin + size));
    begin += size;
  }
}
