// Drives a headless Chromium over its DevTools pipe, without any package: NUL-separated JSON on file descriptors 3 and 4.
//
//   const browser = await Chromium.start();
//   const page = await browser.open('file:///tmp/report.html', {width: 1400, height: 900});
//   await page.evaluate('document.title');
//   await browser.close();
import {spawn} from 'node:child_process';
import {existsSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

export function findChromium() {
  const places = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
  return places.find((place) => place && existsSync(place));
}

export class Chromium {
  static async start() {
    const program = findChromium();
    if (!program) throw new Error('no chromium found; install Debian\'s package chromium or set CHROMIUM');
    const profile = mkdtempSync(join(tmpdir(), 'plateau-chromium-'));
    const child = spawn(program, [
      '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync', '--disable-extensions', '--hide-scrollbars', '--force-color-profile=srgb',
      '--remote-debugging-pipe', `--user-data-dir=${profile}`, 'about:blank',
    ], {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
    return new Chromium(child, profile);
  }

  constructor(child, profile) {
    this.child = child;
    this.profile = profile;
    this.next = 1;
    this.waiting = new Map();
    this.listeners = [];
    let rest = Buffer.alloc(0);
    child.stdio[4].on('data', (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      for (let end = rest.indexOf(0); end >= 0; end = rest.indexOf(0)) {
        const message = JSON.parse(rest.subarray(0, end).toString('utf8'));
        rest = rest.subarray(end + 1);
        this.receive(message);
      }
    });
    child.on('exit', () => {
      for (const {reject} of this.waiting.values()) reject(new Error('chromium ended'));
      this.waiting.clear();
    });
  }

  receive(message) {
    const caller = this.waiting.get(message.id);
    if (caller) {
      this.waiting.delete(message.id);
      if (message.error) caller.reject(new Error(`${caller.method}: ${message.error.message}`));
      else caller.resolve(message.result);
      return;
    }
    for (const listener of this.listeners) listener(message);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = this.next++;
    this.child.stdio[3].write(JSON.stringify({id, method, params, sessionId}) + '\0');
    return new Promise((resolve, reject) => this.waiting.set(id, {resolve, reject, method}));
  }

  async open(url, {width = 1400, height = 900, dark = false} = {}) {
    const {targetId} = await this.send('Target.createTarget', {url: 'about:blank'});
    const {sessionId} = await this.send('Target.attachToTarget', {targetId, flatten: true});
    const page = new Page(this, sessionId, targetId);
    await page.prepare(width, height, dark);
    await page.navigate(url);
    return page;
  }

  async close() {
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    await this.send('Browser.close').catch(() => {});
    await ended;
    rmSync(this.profile, {recursive: true, force: true, maxRetries: 5, retryDelay: 100});
  }
}

export class Page {
  constructor(browser, session, target) {
    this.browser = browser;
    this.session = session;
    this.target = target;
    this.requests = [];  // every URL asked for
    this.problems = [];  // console errors, exceptions, policy violations
    this.dialogs = [];   // alert() and its like: a page that was broken into
    browser.listeners.push((message) => {
      if (message.sessionId !== session) return;
      const p = message.params;
      if (message.method === 'Network.requestWillBeSent') this.requests.push(p.request.url);
      if (message.method === 'Runtime.exceptionThrown') {
        this.problems.push(p.exceptionDetails.exception?.description ?? p.exceptionDetails.text);
      }
      if (message.method === 'Runtime.consoleAPICalled' && ['error', 'warning', 'assert'].includes(p.type)) {
        this.problems.push(p.args.map((a) => a.value ?? a.description).join(' '));
      }
      if (message.method === 'Log.entryAdded' && ['error', 'warning'].includes(p.entry.level)) this.problems.push(p.entry.text);
      if (message.method === 'Page.javascriptDialogOpening') {
        this.dialogs.push(p.message);
        this.send('Page.handleJavaScriptDialog', {accept: true}).catch(() => {});
      }
      if (message.method === 'Page.loadEventFired') this.loaded?.();
    });
  }

  send(method, params = {}) {
    return this.browser.send(method, params, this.session);
  }

  async prepare(width, height, dark) {
    for (const domain of ['Page', 'Runtime', 'Network', 'Log']) await this.send(`${domain}.enable`);
    await this.send('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile: false});
    await this.send('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: dark ? 'dark' : 'light'}]});
  }

  async navigate(url) {
    const loaded = new Promise((resolve) => { this.loaded = resolve; });
    const start = Date.now();
    await this.send('Page.navigate', {url});
    await loaded;
    await this.until('document.documentElement.dataset.ready === "true"', 'the page to be ready');
    this.loadMilliseconds = Date.now() - start;
  }

  // The value of an expression, JSON-like. Throws what the page throws.
  async evaluate(expression) {
    const {result, exceptionDetails} = await this.send('Runtime.evaluate', {expression, returnByValue: true, awaitPromise: true});
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async until(expression, what, seconds = 20) {
    const end = Date.now() + seconds * 1000;
    while (!await this.evaluate(expression)) {
      if (Date.now() > end) throw new Error(`waited ${seconds} s for ${what}`);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }

  // A real click in the middle of the element.
  async click(selector) {
    const at = await this.evaluate(`(async () => {
      const frame = () => new Promise((done) => requestAnimationFrame(done));
      const e = document.querySelector(${JSON.stringify(selector)});
      if (!e) throw new Error('nothing matches ' + ${JSON.stringify(selector)});
      await frame();
      e.scrollIntoView({block: 'center'});
      await frame();  // what was drawn meanwhile may have moved it
      await frame();
      const r = e.getBoundingClientRect();
      return {x: r.x + r.width / 2, y: r.y + r.height / 2};
    })()`);
    for (const type of ['mouseMoved', 'mousePressed', 'mouseReleased']) {
      await this.send('Input.dispatchMouseEvent', {type, ...at, button: 'left', clickCount: 1});
    }
  }

  async key(key) {
    for (const type of ['keyDown', 'keyUp']) {
      await this.send('Input.dispatchKeyEvent', {type, key, code: key, text: type === 'keyDown' && key === 'Enter' ? '\r' : undefined});
    }
  }

  async screenshot(file, {full = false} = {}) {
    let clip;
    if (full) {
      const {cssContentSize} = await this.send('Page.getLayoutMetrics');
      clip = {x: 0, y: 0, width: cssContentSize.width, height: cssContentSize.height, scale: 1};
    }
    const {data} = await this.send('Page.captureScreenshot', {format: 'png', clip, captureBeyondViewport: full});
    writeFileSync(file, Buffer.from(data, 'base64'));
  }

  async close() {
    await this.browser.send('Target.closeTarget', {targetId: this.target});
  }
}
