(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const light = (c) => c.slice(0, 3).map((it) => it / 255)
    .map((it) => it <= 0.04045 ? it / 12.92 : ((it + 0.055) / 1.055) ** 2.4)
    .reduce((sum, it, i) => sum + it * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (it) => {
    for (let node = it; node; node = node.parentElement) {
      const colour = rgb(getComputedStyle(node).backgroundColor);
      if (colour[3] === 1) return colour;
    }
    return [255, 255, 255, 1];
  };
  const found = new Map();
  for (const text of document.querySelectorAll("body *")) {
    const drawing = text.closest("svg");
    const isOwn = [...text.childNodes].some((it) => it.nodeType === 3 && it.data.trim());
    const isSeen = text.checkVisibility() && !/^(TITLE|STYLE|SCRIPT|OPTION)$/i.test(text.tagName);
    if (!isOwn || !isSeen) continue;
    const back = behind(drawing ? drawing.parentElement : text);
    const style = getComputedStyle(text);
    const own = rgb(drawing ? style.fill : style.color);
    const group = drawing && text.closest("g.mark-group");
    const tile = group?.querySelector('[aria-roledescription="bar"]');
    const shown = own.map((it, i) => i < 3 ? it * own[3] + back[i] * (1 - own[3]) : 1);
    const [low, high] = [light(shown), light(back)].sort((a, b) => a - b);
    const ratio = (high + 0.05) / (low + 0.05);
    const where = text.closest("figure")?.id ?? text.className;
    const said = `${where}: "${text.textContent.trim().slice(0, 30)}"`;
    if (ratio < 4.5 && !tile) found.set(said, ratio.toFixed(2));
  }
  return [...found].map(([name, ratio]) => `${name} ${ratio}`);
})()
