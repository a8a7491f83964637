// A screenshot with at most 256 colours: a third of its size, and nobody sees the difference.
//
//   writeFileSync('report.png', await palettePng(page, png));   // base64 of a screenshot; any page decodes it
import {deflateSync} from 'node:zlib';

const kTable = Uint32Array.from({length: 256}, (_, n) => {
  for (let bit = 0; bit < 8; ++bit) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n >>> 0;
});

function chunk(name, data) {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  let crc = 0xffffffff;
  for (const byte of body) crc = kTable[(crc ^ byte) & 0xff] ^ (crc >>> 8);
  out.writeUInt32BE((crc ^ 0xffffffff) >>> 0, body.length + 4);
  return out;
}

async function pixelsOf(page, png) {
  const {width, height, data} = await page.evaluate(`(async () => {
    const image = new Image();
    image.src = 'data:image/png;base64,${png}';
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = image.width;
    canvas.height = image.height;
    const context = canvas.getContext('2d', {willReadFrequently: true});
    context.drawImage(image, 0, 0);
    const bytes = context.getImageData(0, 0, image.width, image.height).data;
    let text = '';
    for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
    return {width: image.width, height: image.height, data: btoa(text)};
  })()`);
  return {width, height, rgba: Buffer.from(data, 'base64')};
}

// The commonest colours; a rare one becomes the nearest of them.
export async function palettePng(page, png, colours = 64) {
  const {width, height, rgba} = await pixelsOf(page, png);
  const counts = new Map();
  const colourAt = (at) => (rgba[at] << 16) | (rgba[at + 1] << 8) | rgba[at + 2];
  for (let at = 0; at < rgba.length; at += 4) counts.set(colourAt(at), (counts.get(colourAt(at)) ?? 0) + 1);
  const palette = [...counts].sort((a, b) => b[1] - a[1]).slice(0, colours).map(([colour]) => colour);
  const distance = (a, b) => ((a >> 16) - (b >> 16)) ** 2 + ((a >> 8 & 255) - (b >> 8 & 255)) ** 2 + ((a & 255) - (b & 255)) ** 2;
  const index = new Map();
  for (const colour of counts.keys()) index.set(colour, palette.reduce((best, other, i) => distance(colour, other) < distance(colour, palette[best]) ? i : best, 0));
  const rows = Buffer.alloc((width + 1) * height);  // a filter byte of 0 before each row
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) rows[y * (width + 1) + 1 + x] = index.get(colourAt(4 * (y * width + x)));
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);  // eight bits, palette
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), chunk('IHDR', header), chunk('PLTE', Buffer.from(palette.flatMap((c) => [c >> 16, c >> 8 & 255, c & 255]))),
    chunk('IDAT', deflateSync(rows, {level: 9})), chunk('IEND', Buffer.alloc(0))]);
}
