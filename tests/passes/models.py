"""Small models as text, in the channels-first order that torch exports, for tests of whole passes."""

LAST, FIRST = "axes=(0, 2, 3, 1)", "axes=(0, 3, 1, 2)"
HALVES = "window=(2, 2), stride=(2, 2), pads=((0, 0), (0, 0)), dilation=(1, 1), count_pads=True"


def conv(x: str, name: str, taps: int, inputs: int, outputs: int, stride: int = 1, groups: int = 1) -> str:
    """A convolution of a `[batch, channels, height, width]`."""
    weight = f"transpose(weight('{name}', f32[{outputs}, {inputs // groups}, {taps}, {taps}]), axes=(2, 3, 1, 0))"
    p = taps // 2
    how = f"stride=({stride}, {stride}), pads=(({p}, {p}), ({p}, {p})), dilation=(1, 1), groups={groups}"
    return f"transpose(conv(transpose({x}, {LAST}), {weight}, {how}), {FIRST})"


def line(x: str, name: str, inputs: int, outputs: int, stride: int) -> str:
    """A convolution of a `[batch, channels, length]` and its bias."""
    weight = f"transpose(weight('{name}', f32[{outputs}, {inputs}, 3]), axes=(2, 1, 0))"
    how = f"stride=({stride},), pads=((1, 1),), dilation=(1,), groups=1"
    body = f"transpose(conv(transpose({x}, axes=(0, 2, 1)), {weight}, {how}), axes=(0, 2, 1))"
    return f"add({body}, weight('{name}.bias', f32[{outputs}, 1]))"


def halved(x: str) -> str:
    """Max pooling of a `[batch, channels, height, width]` by two."""
    return f"transpose(pool(transpose({x}, {LAST}), kind='max', {HALVES}), {FIRST})"


def rotated(x: str) -> str:
    """Rotary positions of a `[..., 4]`."""
    half = f"concat(neg(slice({x}, axis=3, start=2, stop=4)), slice({x}, axis=3, start=0, stop=2), axis=3)"
    return f"add(mul({x}, c), mul({half}, s))"


def counted(shape: str) -> str:
    return f"reshape(iota(shape=({'batch' if shape.startswith('(batch') else 'seq'},)), shape={shape})"


def norm(x: str, name: str, channels: int) -> str:
    """A batch norm with its statistics."""
    one = f"shape=({channels}, 1, 1)"
    kind = f"f32[{channels}]"
    root = f"reshape(rsqrt(add(weight('{name}.variance', {kind}), 0.001)), {one})"
    centred = f"sub({x}, reshape(weight('{name}.mean', {kind}), {one}))"
    scaled = f"mul(mul({centred}, {root}), reshape(weight('{name}.scale', {kind}), {one}))"
    return f"add({scaled}, reshape(weight('{name}.shift', {kind}), {one}))"


def linear(x: str, name: str, inputs: int, outputs: int) -> str:
    """A linear layer, its weight as torch stores it."""
    weight = f"transpose(weight('{name}', f32[{outputs}, {inputs}]), axes=(1, 0))"
    return f"add(matmul({x}, {weight}), weight('{name}.bias', f32[{outputs}]))"


def heads(x: str) -> str:
    return f"transpose(reshape({x}, shape=(batch, seq, 2, 4)), axes=(0, 2, 1, 3))"


RESIDUAL = f"""
batch = size(1, 8)

def residual(x: f32[batch, 3, 8, 8]):
    a = relu({norm(conv("x", "stem", 3, 3, 8, 2), "stem", 8)})
    b = relu({norm(conv("a", "one", 3, 8, 8), "one", 8)})
    c = {norm(conv("b", "two", 1, 8, 8), "two", 8)}
    d = relu(add(c, a))
    f = {halved("d")}
    g = mul(reduce(f, kind='sum', axes=(2, 3)), 0.25)
    h = reshape(g, shape=(batch, 8))
    return {linear("h", "head", 8, 5)}
"""

SQUEEZE = f"""
batch = size(1, 8)

def squeeze(x: f32[batch, 3, 8, 8]):
    a = clamp({norm(conv("x", "stem", 3, 3, 8), "stem", 8)}, lo=0.0, hi=6.0)
    b = silu({norm(conv("a", "depth", 3, 8, 8, 1, 8), "depth", 8)})
    m = mul(reduce(b, kind='sum', axes=(2, 3)), 0.015625)
    s = silu(add({conv("m", "reduce", 1, 8, 4)}, weight('reduce.bias', f32[4, 1, 1])))
    g = sigmoid(add({conv("s", "expand", 1, 4, 8)}, weight('expand.bias', f32[8, 1, 1])))
    c = mul(b, g)
    d = add({norm(conv("c", "project", 1, 8, 8), "project", 8)}, a)
    e = mul(reduce(d, kind='sum', axes=(2, 3)), 0.015625)
    return reshape(e, shape=(batch, 8))
"""

UNET = f"""
batch = size(1, 8)

def unet(x: f32[batch, 3, 8, 8]):
    a = relu({norm(conv("x", "down", 3, 3, 8), "down", 8)})
    b = {halved("a")}
    c = relu({norm(conv("b", "deep", 3, 8, 16), "deep", 16)})
    r = reshape(c, shape=(batch, 16, 4, 1, 4, 1))
    u = reshape(expand(r, shape=(batch, 16, 4, 2, 4, 2)), shape=(batch, 16, 8, 8))
    j = concat(u, a, axis=1)
    d = relu({norm(conv("j", "up", 3, 24, 8), "up", 8)})
    return {conv("d", "out", 1, 8, 2)}
"""

SHARPEN = f"""
batch = size(1, 8)

def sharpen(x: f32[batch, 8, 6, 6]):
    a = add({conv("x", "one", 3, 8, 8)}, x)
    b = relu({conv("a", "two", 3, 8, 8)})
    return add(b, a)
"""

PATCHES = f"""
batch = size(1, 8)

def patches(x: f32[batch, 3, 8, 8]):
    w = transpose(weight('patch', f32[6, 3, 4, 4]), axes=(2, 3, 1, 0))
    i = conv(transpose(x, {LAST}), w, stride=(4, 4), pads=((0, 0), (0, 0)), dilation=(1, 1), groups=1)
    a = transpose(i, {FIRST})
    b = add(a, weight('patch.bias', f32[6, 1, 1]))
    c = transpose(reshape(b, shape=(batch, 6, 4)), axes=(0, 2, 1))
    d = concat(expand(weight('class', f32[1, 1, 6]), shape=(batch, 1, 6)), c, axis=1)
    e = layer_norm(add(d, weight('positions', f32[1, 5, 6])), axes=(2,), eps=1e-06)
    f = add(add({linear("e", "mix", 6, 6)}, reduce(e, kind='sum', axes=(1,))), d)
    g = reshape(slice(f, axis=1, start=0, stop=1, step=1), shape=(batch, 6))
    return {linear("g", "head", 6, 4)}
"""

MIXED = f"""
batch = size(1, 8)

def mixed(t: f32[batch, 16, 8]):
    a = {linear("t", "wide", 8, 8)}
    b = reshape(transpose(a, axes=(0, 2, 1)), shape=(batch, 8, 4, 4))
    c = add({conv("b", "depth", 3, 8, 8, 1, 8)}, weight('depth.bias', f32[8, 1, 1]))
    d = transpose(reshape(c, shape=(batch, 8, 16)), axes=(0, 2, 1))
    return add({linear("gelu(d)", "narrow", 8, 8)}, t)
"""

LINE = f"""
batch = size(1, 8)

def line(x: f32[batch, 3, 12]):
    a = gelu({line("x", "one", 3, 6, 1)})
    b = gelu({line("a", "two", 6, 6, 2)})
    return add(transpose(b, axes=(0, 2, 1)), weight('positions', f32[6, 6]))
"""

ENCODER = f"""
batch = size(1, 8)
seq = size(1, 16)

def encoder(ids: i64[batch, seq], mask: i64[batch, seq]):
    p = slice(weight('positions.ids', i64[1, 16]), axis=1, start=0, stop=seq, step=1)
    t = gather(weight('tokens', f32[2, 8]), ids, axis=0)
    e = add(t, gather(weight('positions', f32[16, 8]), p, axis=0))
    n = add(mul(layer_norm(e, axes=(2,), eps=1e-12), weight('norm.scale', f32[8])), weight('norm.shift', f32[8]))
    q = {linear("n", "query", 8, 8)}
    k = {linear("n", "key", 8, 8)}
    v = {linear("n", "value", 8, 8)}
    flat = reshape(cast(mask, dtype=bool), shape=(batch*seq,))
    rows = mul({counted("(batch, 1, 1, 1)")}, size(dim=seq))
    at = add(rows, {counted("(1, 1, 1, seq)")})
    real = ge({counted("(1, 1, seq, 1)")}, 0)
    seen = and_(real, gather(flat, at, axis=0))
    a = attention({heads("q")}, {heads("k")}, {heads("v")}, seen, scale=0.5, causal=False)
    j = reshape(transpose(a, axes=(0, 2, 1, 3)), shape=(batch, seq, 8))
    return add({linear("j", "out", 8, 8)}, n)
"""

DECODER = f"""
batch = size(1, 8)
seq = size(1, 16)

def decoder(x: f32[batch, seq, 8]):
    m = mul(reduce(pow(x, 2.0), kind='sum', axes=(2,)), 0.125)
    n = mul(weight('norm', f32[8]), mul(x, rsqrt(add(m, 1e-06))))
    q = {heads(linear("n", "query", 8, 8))}
    k = {heads(linear("n", "key", 8, 8))}
    v = {heads(linear("n", "value", 8, 8))}
    f = mul(cast({counted("(seq, 1)")}, dtype=f32), weight('rates', f32[1, 2]))
    c = cos(concat(f, f, axis=1))
    s = sin(concat(f, f, axis=1))
    qr = {rotated("q")}
    kr = {rotated("k")}
    past = le(iota(shape=(seq, seq), axis=1), iota(shape=(seq, seq), axis=0))
    w = where(past, div(matmul(qr, transpose(kr, axes=(0, 1, 3, 2))), 1.7), number(float('-inf'), f32))
    a = matmul(softmax(w, axis=3), v)
    j = reshape(transpose(a, axes=(0, 2, 1, 3)), shape=(batch, seq, 8))
    h = add({linear("j", "out", 8, 8)}, x)
    g = {linear("h", "gate", 8, 8)}
    y = mul(mul(g, sigmoid(g)), {linear("h", "up", 8, 8)})
    z = {linear("y", "down", 8, 8)}
    u = mul(mul(z, 0.5), add(tanh(mul(add(z, mul(pow(z, 3.0), 0.044715)), 0.7978845608)), 1.0))
    return add(u, h)
"""
