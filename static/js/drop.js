// The files of a drop, those inside dropped folders too.

export function isFileDrag(event) {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

export async function filesOf(transfer) {
  // Both lists die with the event: they are read before anything is waited for.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const plain = [...transfer.files];
  if (!entries.some((entry) => entry.isDirectory)) return plain;
  const found = await Promise.all(entries.map(walk));
  return found.flat();
}

async function walk(entry) {
  if (entry.isFile) return [await new Promise((resolve, reject) => entry.file(resolve, reject))];
  const reader = entry.createReader();
  const files = [];
  // A reader gives its entries in portions, and an empty one at the end.
  for (let batch = await read(reader); batch.length > 0; batch = await read(reader)) {
    for (const child of batch) {
      if (!child.name.startsWith(".")) files.push(...(await walk(child)));
    }
  }
  return files;
}

function read(reader) {
  return new Promise((resolve, reject) => reader.readEntries(resolve, reject));
}
