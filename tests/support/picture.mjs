// Pictures of pages, compared as a person would who stands a few steps back: as a grid of mean colours. Fonts of another machine move
// letters and not blocks, so they make no difference; a chart that is gone, a column that is cut or a theme that is half dark do.
//
//   const seen = await pictureOf(browser, png);              // base64 of a screenshot
//   const {mean, share} = difference(seen, expected);        // mean distance of a block (0-255), share of blocks that are far off

export const kColumns = 40;
export const kRows = 60;

// Golden cases whose pages are the pictures of docs/gallery.md, and the verdicts that they show: the case of the card beside it.
export const kGalleryPages = {
  leak: 'leak', slow_leak: 'slow_leak', staircase: 'staircase', reserved_fill: 'unbounded_growth', cut_in_first_epoch: 'inconclusive', fragmentation: 'fragmentation',
  untraced_growth: 'untraced_growth', worker_duplication: 'worker_duplication', warmup_in_progress: 'warmup_in_progress', cache_fill: 'cache_fill',
  warmup_complete: 'warmup_complete', spike_retained: 'spike_retained', spike_recovered: 'spike_recovered', allocator_retention: 'allocator_retention', steady: 'steady',
};

// What one sees first of a page, as base64 of a PNG.
export async function firstScreen(browser, url) {
  const page = await browser.open(url, {width: 1280, height: 800});
  await page.until('document.querySelector("#view-timeline canvas") !== null', 'the timeline');
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(true), 60))))');
  const {data} = await page.send('Page.captureScreenshot', {format: 'png'});
  await page.close();
  return data;
}

// Three bytes per block, as base64.
export async function pictureOf(page, png) {
  return page.evaluate(`(async () => {
    const image = new Image();
    image.src = 'data:image/png;base64,${png}';
    await image.decode();
    const canvas = document.createElement('canvas');
    canvas.width = image.width;
    canvas.height = image.height;
    const context = canvas.getContext('2d', {willReadFrequently: true});
    context.drawImage(image, 0, 0);
    const pixels = context.getImageData(0, 0, image.width, image.height).data;
    const out = new Uint8Array(${kColumns * kRows * 3});
    for (let row = 0; row < ${kRows}; ++row) {
      for (let column = 0; column < ${kColumns}; ++column) {
        const sum = [0, 0, 0];
        let count = 0;
        for (let y = Math.floor(row * image.height / ${kRows}); y < Math.floor((row + 1) * image.height / ${kRows}); ++y) {
          for (let x = Math.floor(column * image.width / ${kColumns}); x < Math.floor((column + 1) * image.width / ${kColumns}); ++x) {
            for (let c = 0; c < 3; ++c) sum[c] += pixels[4 * (y * image.width + x) + c];
            ++count;
          }
        }
        for (let c = 0; c < 3; ++c) out[3 * (row * ${kColumns} + column) + c] = Math.round(sum[c] / count);
      }
    }
    return btoa(String.fromCharCode(...out));
  })()`);
}

// Colours are compared with the two rows beside them too: a line that wraps elsewhere moves what is below it by a few blocks.
export function difference(a, b) {
  const x = Buffer.from(a, 'base64');
  const y = Buffer.from(b, 'base64');
  const distance = (i, j) => Math.max(...[0, 1, 2].map((c) => Math.abs(x[3 * i + c] - y[3 * j + c])));
  let sum = 0;
  let far = 0;
  for (let row = 0; row < kRows; ++row) {
    for (let column = 0; column < kColumns; ++column) {
      let nearest = 255;
      for (let other = Math.max(0, row - 1); other <= Math.min(kRows - 1, row + 1); ++other) {
        nearest = Math.min(nearest, distance(row * kColumns + column, other * kColumns + column));
      }
      sum += nearest;
      if (nearest > 24) ++far;
    }
  }
  return {mean: sum / (kRows * kColumns), share: far / (kRows * kColumns)};
}
